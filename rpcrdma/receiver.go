package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// receiver is the transport.MessageHandler of a connection. It parses each message and gives it to
// the caller or to the responder.
type receiver struct {
	l         *link
	caller    *caller
	responder *responder
	draft     *draft // nil: the dialect is RFC8166
}

// Received implements transport.MessageHandler.
func (rx *receiver) Received(batch []transport.Message) {
	for i := range batch {
		rx.receive(&batch[i])
	}
}

// receive parses one message.
func (rx *receiver) receive(m *transport.Message) {
	r := m.Receive.Context.(*memory.Receive)
	h := &r.Header
	n, body, more, err := r.Parse(m.Len)
	if m.HasInvalidate {
		rx.caller.invalidated(h.XID, m.Invalidated)
	}
	switch {
	case err != nil:
		rx.malformed(r, err)
	case h.Type == wire.TypeMsg:
		r.Message = wire.Message{Body: body, More: more}
		rx.receiveMsg(r)
	default:
		rx.receiveOther(r, n, body, more)
	}
}

// malformed handles a message whose header cannot be parsed.
func (rx *receiver) malformed(r *memory.Receive, err error) {
	switch {
	case errors.Is(err, wire.ErrShort):
		rx.ignore(r, err)
	case errors.Is(err, wire.ErrVersion):
		rx.refuse(r, err, wire.ErrVers)
	default:
		rx.refuse(r, err, wire.ErrChunk)
	}
}

// receiveOther handles a message that is no RDMA_MSG: a header of n bytes, followed by body and
// more.
func (rx *receiver) receiveOther(r *memory.Receive, n int, body, more []byte) {
	l, h := rx.l, &r.Header
	r.Message = wire.Message{}
	switch h.Type {
	case wire.TypeNoMsg:
		rx.receiveNoMsg(r)
	case wire.TypeError:
		atomic.AddUint64(&l.stats.ErrorsRecv, 1)
		rx.caller.received(r, &PeerError{h.Err, h.Low, h.High})
	case wire.TypeMsgP:
		if rx.draft == nil {
			err := fmt.Errorf("%w: %v, of the draft's dialect", wire.ErrMalformed, h.Type)
			rx.refuse(r, err, wire.ErrChunk)
			return
		}
		pad, err := wire.Padding(h, n, r.Size(), l.cfg.PadAbove)
		if err != nil {
			rx.refuse(r, err, wire.ErrChunk)
			return
		}
		atomic.AddUint64(&l.stats.Padded, 1)
		r.Message = wire.Message{Body: body, More: more, Padding: pad}
		rx.receiveMsg(r)
	case wire.TypeDone:
		if rx.draft != nil {
			rx.draft.pinned.done(r, h.XID)
			return
		}
		atomic.AddUint64(&l.stats.DonesIgnored, 1) // RFC 8166 section 4.3
		rx.ignore(r, nil)
	}
}

// receiveMsg handles an RDMA_MSG or RDMA_MSGP. Its body says whether it is a call.
func (rx *receiver) receiveMsg(r *memory.Receive) {
	body := r.Message.Body
	if len(body) < 8 {
		err := fmt.Errorf("%w: %v with %d bytes of message", wire.ErrMalformed, r.Header.Type, len(body))
		rx.refuse(r, err, wire.ErrChunk)
		return
	}
	var err error
	if binary.BigEndian.Uint32(body) != r.Header.XID {
		err = wire.ErrXID
	}
	switch t := oncrpc.MsgType(binary.BigEndian.Uint32(body[4:])); {
	case t == oncrpc.MsgReply:
		rx.caller.received(r, err)
	case t != oncrpc.MsgCall:
		rx.refuse(r, fmt.Errorf("%w: message type %d", wire.ErrMalformed, t), wire.ErrChunk)
	case err != nil:
		rx.responder.refuse(r, err, wire.ErrChunk)
	default:
		rx.responder.received(r)
	}
}

// receiveNoMsg handles an RDMA_NOMSG. The message of a call is in a read chunk. That of a reply is
// in the reply chunk, or in the Draft perhaps in a read chunk.
func (rx *receiver) receiveNoMsg(r *memory.Receive) {
	h := &r.Header
	rx.l.mu.Lock()
	ours, serves := rx.caller.pending.get(h.XID) != nil, rx.responder.server != noServer
	rx.l.mu.Unlock()
	inReply := h.Reply.Len() > 0
	switch {
	case wire.IsLong(h) && (!ours || serves && rx.draft == nil):
		rx.responder.received(r)
	case wire.IsLong(h) && serves:
		if err := rx.draft.ambiguous.take(r, h.XID); err != nil {
			rx.ignore(r, err)
		}
	case len(h.Reads) == 0 && !inReply || !ours && (serves || !inReply):
		rx.refuse(r, wire.ErrNoMessage, wire.ErrChunk)
	default:
		// If nothing serves calls, a filled reply chunk counts as a reply even without a call for
		// it, and a long message as a bad reply.
		rx.caller.received(r, nil)
	}
}

// refuse handles a bad message that may be a call or a reply. Only a call may be answered with an
// error. A message with the XID of our pending call counts as a reply.
func (rx *receiver) refuse(r *memory.Receive, err error, code wire.ErrCode) {
	switch {
	case rx.caller.awaits(r.Header.XID):
		rx.caller.received(r, err)
	case r.Header.Type == wire.TypeError:
		rx.ignore(r, err)
	default:
		rx.responder.refuse(r, err, code)
	}
}

// ignore drops a message.
func (rx *receiver) ignore(r *memory.Receive, err error) {
	l := rx.l
	if err != nil {
		l.fault(&l.stats.Malformed, "message ignored", r.Header.XID, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return // ended: the receive was given back with the others
	}
	l.receives.Arrived(r)
	l.receives.Repost(r)
}
