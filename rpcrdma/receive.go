package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Received takes messages from the provider.
func (c *Conn) Received(batch []transport.Message) {
	for i := range batch {
		c.received(&batch[i])
	}
}

func (c *Conn) received(m *transport.Message) {
	r := m.Receive.Context.(*receive)
	h := &c.header
	b := r.bytes(m.Len)
	n, err := h.Parse(b)
	switch {
	case errors.Is(err, ErrShort):
		c.useless(r, err)
		return
	case errors.Is(err, ErrVersion):
		c.bad(r, err, ErrVers)
		return
	case err != nil:
		c.bad(r, err, ErrChunk)
		return
	}
	switch h.Type {
	case TypeDone: // of the draft (section 3.8); RFC 8166 no longer has it: ignored
		c.stats.donesIgnored.Add(1)
		c.useless(r, nil)
	case TypeError:
		c.stats.errorsRecv.Add(1)
		c.reply(r, nil, &PeerError{h.Err, h.Low, h.High})
	case TypeMsgP: // of the draft (section 3.9); RFC 8166 no longer has it
		c.bad(r, fmt.Errorf("%w: %v", ErrMalformed, h.Type), ErrChunk)
	case TypeNoMsg:
		c.receivedNoMsg(r)
	case TypeMsg:
		c.receivedMsg(r, b[n:])
	}
}

// receivedMsg takes an RDMA_MSG: its body says whether it is a call.
func (c *Conn) receivedMsg(r *receive, body []byte) {
	h := &c.header
	if len(body) < 8 {
		c.bad(r, fmt.Errorf("%w: RDMA_MSG with %d bytes of message", ErrMalformed, len(body)), ErrChunk)
		return
	}
	xid := binary.BigEndian.Uint32(body)
	switch oncrpc.MsgType(binary.BigEndian.Uint32(body[4:])) {
	case oncrpc.MsgCall:
		if xid != h.XID {
			c.refuse(r, ErrXID, ErrChunk)
			return
		}
		c.call(r, body)
	case oncrpc.MsgReply:
		var err error
		if xid != h.XID {
			err = ErrXID
		} else if len(h.Reads) > 0 {
			err = ErrReplyRead
		} else if h.Reply.Len() > 0 {
			err = fmt.Errorf("%w: RDMA_MSG with a reply chunk in use", ErrMalformed)
		}
		c.reply(r, body, err)
	default:
		c.bad(r, fmt.Errorf("%w: message type %d", ErrMalformed, binary.BigEndian.Uint32(body[4:])), ErrChunk)
	}
}

// receivedNoMsg takes an RDMA_NOMSG: a call's message is in a read chunk, a reply's in the reply chunk.
func (c *Conn) receivedNoMsg(r *receive) {
	h := &c.header
	for i := range h.Reads {
		// Only a call has a chunk at position zero; but who serves nothing takes it for a bad reply.
		if h.Reads[i].Position == 0 && (c.serves() || !c.awaits(h.XID)) {
			c.call(r, nil)
			return
		}
	}
	switch {
	case !c.awaits(h.XID):
		c.bad(r, fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed), ErrChunk)
	case len(h.Reads) > 0:
		c.reply(r, nil, ErrReplyRead)
	case h.Reply.Len() == 0:
		c.reply(r, nil, fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed))
	default:
		c.reply(r, nil, nil)
	}
}

// serves reports whether calls of the peer are answered.
func (c *Conn) serves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server != nil
}

// awaits reports whether a call of this side awaits its reply.
func (c *Conn) awaits(xid uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[xid] != nil
}

// bad deals with a message in error of which the header does not tell whether it is a call. A reply must not
// be answered with an error, and an RDMA_ERROR neither: what bears the XID of a call of ours is a reply.
func (c *Conn) bad(r *receive, err error, code ErrCode) {
	switch {
	case c.awaits(c.header.XID):
		c.reply(r, nil, err)
	case c.header.Type == TypeError:
		c.useless(r, err)
	default:
		c.refuse(r, err, code)
	}
}

// refuse answers a call in error with an RDMA_ERROR.
func (c *Conn) refuse(r *receive, err error, code ErrCode) {
	count := &c.stats.malformed
	if code == ErrVers {
		count = &c.stats.badVersion
	}
	c.complain(count, "message refused", c.header.XID, err)
	if in := c.accept(r, nil); in != nil {
		in.refuse(code)
	}
}

// useless deals with a message that means nothing.
func (c *Conn) useless(r *receive, err error) {
	if err != nil {
		c.complain(&c.stats.malformed, "message ignored", c.header.XID, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return // ended: the receive went with the others
	}
	c.arrived(r)
	c.repost(r)
}

// reply takes the reply to a call of ours: body is its message when that is inline, err what is wrong
// with it.
func (c *Conn) reply(r *receive, body []byte, err error) {
	h := &c.header
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return
	}
	c.arrived(r)
	k := c.pending[h.XID]
	if k == nil {
		c.repost(r)
		c.mu.Unlock()
		c.stats.unknownXID.Add(1)
		c.cfg.Logger.Debug("rpcrdma: reply to no call", "peer", c.info.RemoteAddr, "xid", h.XID, "type", h.Type)
		return
	}
	delete(c.pending, h.XID)
	c.mu.Unlock()

	k.recv = r
	if err == nil && !k.abandoned {
		err = k.accept(h, body)
	}
	switch {
	case errors.Is(err, ErrVersion):
		c.complain(&c.stats.badVersion, "reply of another version", h.XID, err)
	case errors.Is(err, ErrMalformed), errors.Is(err, chunks.ErrMalformed):
		c.complain(&c.stats.malformed, "reply malformed", h.XID, err)
	}
	c.window.Release(k.credit, h.Credits)
	k.deliver(err)
}

// call takes a call: body is its message when that is inline.
func (c *Conn) call(r *receive, body []byte) {
	in := c.accept(r, body)
	if in == nil {
		return
	}
	c.stats.callsReceived.Add(1)
	if err := in.check(); err != nil {
		c.complain(&c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
		return
	}
	if !c.budget.reserve(in) {
		c.stats.waited.Add(1)
		return
	}
	in.start()
}

// nobody answers the calls on connections that nothing serves: it has no programs.
var nobody = oncrpc.NewServer(oncrpc.ServerConfig{})

// accept makes an incoming of a message that used up a receive, unless the connection has ended.
func (c *Conn) accept(r *receive, body []byte) *incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return nil
	}
	c.arrived(r)
	c.granter.Received()
	s := c.server
	if s == nil {
		s = nobody
		c.stats.unserved.Add(1)
	}
	in := getIncoming(c, s)
	in.recv, in.body = r, body
	// The next message is parsed into the memory of an earlier one.
	in.header, c.header = c.header, in.header
	return in
}
