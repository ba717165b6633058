package iwarp

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// assembler makes messages from the segments of the peer's Sends, in the memory of receives. It
// belongs to the goroutine that receives.
type assembler struct {
	*link
	receives *receives
	inbox    *inbox
	msn      uint32 // of the open message, or else of the next
	rtr      bool   // the next Send is the RTR, not a message

	// The message that is arriving, if open.
	open    bool
	opcode  rdmap.Opcode
	receive *transport.RecvRequest
	rest    ddp.Payload // of the receive, not yet filled
	room    int         // bytes that the receive holds
	len     uint32      // bytes that have arrived

	moved int // bytes of all messages so far
}

// segment takes a segment of a Send.
func (a *assembler) segment(h *ddp.Header, op rdmap.Opcode, payload []byte) error {
	if h.MSN != a.msn {
		return errCode(rdmap.UntaggedMSNRange)
	}
	if a.rtr {
		a.rtr = false
		a.msn++
		return nil
	}
	switch {
	case !a.open && h.MO == 0:
		if err := a.begin(op); err != nil {
			return err
		}
	case h.MO != a.len:
		return errCode(rdmap.UntaggedMO)
	case op != a.opcode:
		return errCode(rdmap.OperationOpcode)
	}
	if len(payload) > a.room-int(a.len) {
		return errCode(rdmap.UntaggedTooLong)
	}
	fill(&a.rest, payload)
	a.len += uint32(len(payload))
	a.moved += len(payload)
	if !h.Last {
		return nil
	}
	return a.conclude(h, op)
}

// begin takes a receive for a new message.
func (a *assembler) begin(op rdmap.Opcode) error {
	r, err := a.receives.take()
	if err != nil {
		return err
	}
	a.open, a.opcode, a.receive, a.len = true, op, r, 0
	a.rest = ddp.Payload{List: r.Local}
	a.room = min(transport.TotalLen(r.Local), maxMessage)
	return nil
}

// conclude delivers a complete message.
func (a *assembler) conclude(h *ddp.Header, op rdmap.Opcode) error {
	m := transport.Message{
		Receive:   a.receive,
		Len:       int(a.len),
		Solicited: op == rdmap.OpSendSE || op == rdmap.OpSendSEInvalidate,
	}
	if op.Invalidates() {
		m.Invalidated, m.HasInvalidate = transport.STag(h.ULP), true
		switch err := a.Table.Invalidate(m.Invalidated); {
		case errors.Is(err, transport.ErrAccess):
			return errCode(rdmap.ProtectionInvalidate)
		case err != nil:
			return errCode(rdmap.ProtectionSTag)
		}
	}
	a.drop()
	a.msn++
	a.inbox.add(m)
	return nil
}

// drop forgets the message that is arriving.
func (a *assembler) drop() {
	a.open, a.receive, a.rest, a.len = false, nil, ddp.Payload{}, 0
}
