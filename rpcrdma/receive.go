package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// receiver is a connection as its provider knows it: it takes messages.
type receiver Conn

// Received takes messages from the provider.
func (r *receiver) Received(batch []transport.Message) {
	for i := range batch {
		(*Conn)(r).received(&batch[i])
	}
}

func (c *Conn) received(m *transport.Message) {
	r := m.Receive.Context.(*receive)
	h := &c.header
	b, more := r.parts(m.Len)
	n, err := h.Parse(b)
	if more != nil && (errors.Is(err, ErrMalformed) || n+8 > len(b)) { // it lies across both buffers
		b, more = append(slices.Clip(b), more...), nil
		n, err = h.Parse(b)
	}
	if m.HasInvalidate {
		c.invalidated(h.XID, m.Invalidated)
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrShort):
		c.useless(r, err)
		return
	case errors.Is(err, ErrVersion):
		c.bad(r, err, ErrVers)
		return
	default:
		c.bad(r, err, ErrChunk)
		return
	}
	switch h.Type {
	case TypeDone:
		if c.rules.replyReads {
			c.receivedDone(r)
			return
		}
		c.stats.donesIgnored.Add(1) // RFC 8166 section 4.3
		c.useless(r, nil)
	case TypeError:
		c.stats.errorsRecv.Add(1)
		c.receivedReply(r, message{}, &PeerError{h.Err, h.Low, h.High})
	case TypeMsgP:
		if !c.rules.padding {
			c.bad(r, fmt.Errorf("%w: %v, of the draft's dialect", ErrMalformed, h.Type), ErrChunk)
			return
		}
		pad, err := h.padding(n, r.home.kind.size, c.cfg.PadAbove)
		if err != nil {
			c.bad(r, err, ErrChunk)
			return
		}
		c.stats.padded.Add(1)
		c.receivedMsg(r, message{b[n:], more, pad})
	case TypeNoMsg:
		c.receivedNoMsg(r)
	case TypeMsg:
		c.receivedMsg(r, message{body: b[n:], more: more})
	}
}

// message is what follows the header of an RDMA_MSG or RDMA_MSGP.
type message struct {
	body    []byte
	more    []byte // of it, in the second buffer of the receive
	padding xdr.Padding
}

// decode has d decode the message and its chunks.
func (m *message) decode(d *xdr.Decoder) {
	if m.more != nil {
		d.Continue(m.more)
	}
	if m.padding.Align > 0 {
		d.SetPadding(m.padding)
	}
}

// receivedMsg takes an RDMA_MSG or RDMA_MSGP: its body says whether it is a call.
func (c *Conn) receivedMsg(r *receive, m message) {
	h := &c.header
	if len(m.body) < 8 {
		c.bad(r, fmt.Errorf("%w: %v with %d bytes of message", ErrMalformed, h.Type, len(m.body)), ErrChunk)
		return
	}
	xid := binary.BigEndian.Uint32(m.body)
	switch oncrpc.MsgType(binary.BigEndian.Uint32(m.body[4:])) {
	case oncrpc.MsgCall:
		if xid != h.XID {
			c.refuse(r, ErrXID, ErrChunk)
			return
		}
		c.call(r, m)
	case oncrpc.MsgReply:
		var err error
		if xid != h.XID {
			err = ErrXID
		} else if h.Reply.Len() > 0 {
			err = fmt.Errorf("%w: %v with a reply chunk in use", ErrMalformed, h.Type)
		}
		c.receivedReply(r, m, err)
	default:
		c.bad(r, fmt.Errorf("%w: message type %d", ErrMalformed, binary.BigEndian.Uint32(m.body[4:])), ErrChunk)
	}
}

// receivedNoMsg takes an RDMA_NOMSG: a call's message is in a read chunk, a reply's in the reply chunk, or, in the Draft, in a read chunk, too.
func (c *Conn) receivedNoMsg(r *receive) {
	h := &c.header
	if h.long() {
		c.mu.Lock()
		ours, serves := c.pending[h.XID] != nil, c.server != noServer
		c.mu.Unlock()
		switch {
		case !ours, serves && !c.rules.replyReads: // who serves nothing takes it for a bad reply
			c.call(r, message{})
			return
		case serves:
			c.doubt(r)
			return
		}
	}
	switch {
	case !c.awaits(h.XID):
		c.bad(r, fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed), ErrChunk)
	case len(h.Reads) == 0 && h.Reply.Len() == 0:
		c.receivedReply(r, message{}, fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed))
	default:
		c.receivedReply(r, message{}, nil)
	}
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
		c.receivedReply(r, message{}, err)
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
	c.fault(count, "message refused", c.header.XID, err)
	if in := c.takeCall(r, message{}); in != nil {
		in.refuse(code)
	}
}

// useless deals with a message that means nothing.
func (c *Conn) useless(r *receive, err error) {
	if err != nil {
		c.fault(&c.stats.malformed, "message ignored", c.header.XID, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return // ended: the receive went with the others
	}
	c.supply.arrived(r)
	c.supply.repost(r)
}

// receivedReply takes the receivedReply to a call of ours, with its message when that is inline, or with what is wrong with it.
func (c *Conn) receivedReply(r *receive, m message, err error) {
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return
	}
	c.supply.arrived(r)
	c.heard++
	c.concludeCall(r, &c.header, m, err, c.heard)
}

// concludeCall is receivedReply for a receive that is off the list, and the number of what it took; c.mu is held, and unlocked.
func (c *Conn) concludeCall(r *receive, h *Header, m message, err error, number uint64) {
	k := c.pending[h.XID]
	if k == nil || k.fetching {
		c.supply.repost(r)
		c.mu.Unlock()
		c.stats.unknownXID.Add(1)
		c.cfg.Logger.Debug("rpcrdma: reply to no call", "peer", c.info.RemoteAddr, "xid", h.XID, "type", h.Type)
		return
	}
	reads := len(h.Reads) > 0
	if reads && !c.rules.replyReads && err == nil {
		err = ErrReplyRead
	}
	k.recv = r
	k.owes = reads && c.rules.replyReads
	// Until its chunks are here, a reply has its call under way, with its transaction id. The caller may give
	// up as long, so what is his is looked at now.
	if err == nil && !k.abandoned {
		err = k.checkReply(h, m)
		k.fetching = err == nil && len(k.reads) > 0 // there may be no bytes in them
	}
	fetching := k.fetching
	if !fetching {
		delete(c.pending, h.XID)
	}
	// Grants count in the order in which they arrived, and so under the lock.
	last := number > c.granted
	c.granted = max(c.granted, number)
	switch {
	case k.owes && last:
		c.window.Grant(k.credit, h.Credits)
	case k.owes:
	case last:
		c.window.Release(k.credit, h.Credits)
	default:
		c.window.Cancel()
	}
	c.mu.Unlock()

	if fetching {
		c.fetchReply(k)
	} else {
		k.end(err)
	}
}

// end ends a call that is off the table, with its reply in place or with an error.
func (k *call) end(err error) {
	c := k.c
	switch {
	case err == nil:
	case errors.Is(err, ErrVersion):
		c.fault(&c.stats.badVersion, "reply of another version", k.xid, err)
	case errors.Is(err, chunks.ErrMalformed) && !errors.Is(err, ErrMalformed):
		err = fmt.Errorf("%w: %w", ErrMalformed, err)
		fallthrough
	case errors.Is(err, ErrMalformed):
		c.fault(&c.stats.malformed, "reply malformed", k.xid, err)
	}
	if k.owes {
		k.sendDone()
	}
	k.deliver(err)
}

// call takes a call, with its message when that is inline.
func (c *Conn) call(r *receive, m message) {
	if in := c.takeCall(r, m); in != nil {
		in.admit()
	}
}

// admit checks the call, and starts it when there is memory for it.
func (in *incoming) admit() {
	c := in.c
	c.stats.callsReceived.Add(1)
	if err := in.check(); err != nil {
		c.fault(&c.stats.malformed, "call refused", in.header.XID, err)
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
var nobody = oncrpc.DispatcherOf(new(oncrpc.Server))

// takeCall makes a call of the peer's of a message that used up a receive, unless the connection has ended.
func (c *Conn) takeCall(r *receive, m message) *incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return nil
	}
	c.supply.arrived(r)
	c.granter.Received()
	return c.take(r, m)
}

// take makes an incoming of the message with c.header; c.mu is held.
func (c *Conn) take(r *receive, m message) *incoming {
	s := c.server
	if s == noServer {
		s = nobody
	}
	in := getIncoming(c, s)
	in.recv, in.message = r, m
	// The next message is parsed into the memory of an earlier one.
	in.header, c.header = c.header, in.header
	return in
}
