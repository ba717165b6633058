package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// receiver is the transport.MessageHandler of a connection. It parses each message and gives it to
// the caller or to the responder.
type receiver struct{ conn *Conn }

// Received implements transport.MessageHandler.
func (rx *receiver) Received(batch []transport.Message) {
	for i := range batch {
		rx.receive(&batch[i])
	}
}

// receive parses one message.
func (rx *receiver) receive(m *transport.Message) {
	c := rx.conn
	r := m.Receive.Context.(*receive)
	h := &r.header
	n, body, more, err := r.parse(m.Len)
	if m.HasInvalidate {
		c.caller.invalidated(h.XID, m.Invalidated)
	}
	switch {
	case err != nil:
		rx.malformed(r, err)
	case h.Type == TypeMsg:
		r.message = message{body: body, more: more}
		rx.receiveMsg(r)
	default:
		rx.receiveOther(r, n, body, more)
	}
}

// parse parses the header of a message of size bytes. It returns the length of the header, and what
// follows it in the first and second buffer.
func (r *receive) parse(size int) (n int, body, more []byte, err error) {
	body, more = r.parts(size)
	n, err = r.header.Parse(body)
	// the header, or the first words of the message, lie across both buffers: join them
	if more != nil && (errors.Is(err, ErrMalformed) || n+8 > len(body)) {
		body, more = append(slices.Clip(body), more...), nil
		n, err = r.header.Parse(body)
	}
	return n, body[n:], more, err
}

// malformed handles a message whose header cannot be parsed.
func (rx *receiver) malformed(r *receive, err error) {
	switch {
	case errors.Is(err, ErrShort):
		rx.ignore(r, err)
	case errors.Is(err, ErrVersion):
		rx.refuse(r, err, ErrVers)
	default:
		rx.refuse(r, err, ErrChunk)
	}
}

// receiveOther handles a message that is no RDMA_MSG: a header of n bytes, followed by body and
// more.
func (rx *receiver) receiveOther(r *receive, n int, body, more []byte) {
	c, h := rx.conn, &r.header
	r.message = message{}
	switch h.Type {
	case TypeNoMsg:
		rx.receiveNoMsg(r)
	case TypeError:
		c.stats.errorsRecv.Add(1)
		c.caller.received(r, &PeerError{h.Err, h.Low, h.High})
	case TypeMsgP:
		if c.draft == nil {
			rx.refuse(r, fmt.Errorf("%w: %v, of the draft's dialect", ErrMalformed, h.Type), ErrChunk)
			return
		}
		pad, err := h.padding(n, r.home.kind.size, c.cfg.PadAbove)
		if err != nil {
			rx.refuse(r, err, ErrChunk)
			return
		}
		c.stats.padded.Add(1)
		r.message = message{body, more, pad}
		rx.receiveMsg(r)
	case TypeDone:
		if c.draft != nil {
			c.draft.done(r, h.XID)
			return
		}
		c.stats.donesIgnored.Add(1) // RFC 8166 section 4.3
		rx.ignore(r, nil)
	}
}

// message is what follows the header of an RDMA_MSG or RDMA_MSGP.
type message struct {
	body    []byte
	more    []byte // the part in the second buffer of the receive
	padding xdr.Padding
}

// decode sets d up to decode the parts of the message after the first.
func (m *message) decode(d *xdr.Decoder) {
	if m.more != nil {
		d.AppendInline(m.more)
	}
	if m.padding.Align > 0 {
		d.SetPadding(m.padding)
	}
}

// receiveMsg handles an RDMA_MSG or RDMA_MSGP. Its body says whether it is a call.
func (rx *receiver) receiveMsg(r *receive) {
	c, body := rx.conn, r.message.body
	if len(body) >= 8 && binary.BigEndian.Uint32(body) == r.header.XID {
		switch oncrpc.MsgType(binary.BigEndian.Uint32(body[4:])) {
		case oncrpc.MsgCall:
			c.responder.received(r)
			return
		case oncrpc.MsgReply:
			if r.header.Reply.Len() == 0 {
				c.caller.received(r, nil)
				return
			}
		}
	}
	rx.receiveBad(r)
}

// receiveBad handles an RDMA_MSG or RDMA_MSGP with an error.
func (rx *receiver) receiveBad(r *receive) {
	c, h, body := rx.conn, &r.header, r.message.body
	if len(body) < 8 {
		err := fmt.Errorf("%w: %v with %d bytes of message", ErrMalformed, h.Type, len(body))
		rx.refuse(r, err, ErrChunk)
		return
	}
	switch t := oncrpc.MsgType(binary.BigEndian.Uint32(body[4:])); {
	case t == oncrpc.MsgCall:
		c.responder.refuse(r, ErrXID, ErrChunk)
	case t != oncrpc.MsgReply:
		rx.refuse(r, fmt.Errorf("%w: message type %d", ErrMalformed, t), ErrChunk)
	case binary.BigEndian.Uint32(body) != h.XID:
		c.caller.received(r, ErrXID)
	default:
		c.caller.received(r, fmt.Errorf("%w: %v with a reply chunk in use", ErrMalformed, h.Type))
	}
}

// receiveNoMsg handles an RDMA_NOMSG. The message of a call is in a read chunk. That of a reply is
// in the reply chunk, or in the Draft perhaps in a read chunk.
func (rx *receiver) receiveNoMsg(r *receive) {
	c := rx.conn
	h := &r.header
	c.mu.Lock()
	ours, serves := c.caller.pending.get(h.XID) != nil, c.responder.server != noServer
	c.mu.Unlock()
	if h.long() {
		switch {
		case !ours, serves && c.draft == nil: // if nothing serves, it counts as a bad reply
			c.responder.received(r)
			return
		case serves:
			c.draft.doubt(r, h.XID)
			return
		}
	}
	if len(h.Reads) == 0 && h.Reply.Len() == 0 || !ours && (serves || h.Reply.Len() == 0) {
		rx.refuse(r, fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed), ErrChunk)
		return
	}
	// If nothing serves calls, a filled reply chunk counts as a reply even without a call for it.
	c.caller.received(r, nil)
}

// refuse handles a bad message that may be a call or a reply. Only a call may be answered with an
// error. A message with the XID of our pending call counts as a reply.
func (rx *receiver) refuse(r *receive, err error, code ErrCode) {
	c := rx.conn
	switch {
	case c.caller.awaits(r.header.XID):
		c.caller.received(r, err)
	case r.header.Type == TypeError:
		rx.ignore(r, err)
	default:
		c.responder.refuse(r, err, code)
	}
}

// ignore drops a message.
func (rx *receiver) ignore(r *receive, err error) {
	c := rx.conn
	if err != nil {
		c.fault(&c.stats.malformed, "message ignored", r.header.XID, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return // ended: the receive was given back with the others
	}
	c.flow.arrived(r)
	c.flow.repost(r)
}
