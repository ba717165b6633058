package iwarp

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// untagged takes a segment of the untagged model.
func (e *endpoint) untagged(h *ddp.Header, payload []byte) error {
	if h.Version != e.version {
		return errCode(rdmap.UntaggedVersion)
	}
	if h.Queue > ddp.QueueTerminate {
		return errCode(rdmap.UntaggedQueue)
	}
	version, op := rdmap.ParseControl(h.Control)
	switch {
	case version != e.version:
		return errCode(rdmap.OperationVersion)
	case !op.Valid() || op.Tagged() || op.Queue() != h.Queue:
		return errCode(rdmap.OperationOpcode)
	case op == rdmap.OpReadRequest:
		return e.readRequest(h, payload)
	case op == rdmap.OpTerminate:
		return e.terminate(h, payload)
	}
	return e.sent(h, op, payload)
}

// sent takes a segment of a Send.
func (e *endpoint) sent(h *ddp.Header, op rdmap.Opcode, payload []byte) error {
	in := &e.in
	if h.MSN != in.msnSend {
		return errCode(rdmap.UntaggedMSNRange)
	}
	if in.rtrSend {
		in.rtrSend = false
		in.msnSend++
		return nil
	}
	switch {
	case !in.open && h.MO == 0:
		if err := e.openMessage(op); err != nil {
			return err
		}
	case h.MO != in.len:
		return errCode(rdmap.UntaggedMO)
	case op != in.opcode:
		return errCode(rdmap.OperationOpcode)
	}
	if len(payload) > in.room-int(in.len) {
		return errCode(rdmap.UntaggedTooLong)
	}
	for rest := payload; len(rest) > 0; {
		rest = rest[copy(in.rest.Next(len(rest)), rest):]
	}
	in.len += uint32(len(payload))
	if !h.Last {
		return nil
	}
	return e.closeMessage(h, op)
}

// openMessage takes the next receive for a message.
func (e *endpoint) openMessage(op rdmap.Opcode) error {
	e.mu.Lock()
	r, ok := e.recvs.Pop()
	promised := !ok && e.promised > 0
	if promised {
		e.promised--
	}
	e.mu.Unlock()
	switch {
	case promised:
		if r = e.source.Receive(); r == nil {
			return e.hold()
		}
	case !ok:
		return errCode(rdmap.UntaggedNoBuffer)
	}
	in := &e.in
	in.open, in.opcode, in.receive, in.len = true, op, r, 0
	in.rest, in.room = ddp.Payload{List: r.Local}, min(transport.TotalLen(r.Local), maxMessage)
	return nil
}

// closeMessage adds a message that has come whole to those to deliver.
func (e *endpoint) closeMessage(h *ddp.Header, op rdmap.Opcode) error {
	in := &e.in
	m := transport.Message{
		Receive:   in.receive,
		Len:       int(in.len),
		Solicited: op == rdmap.OpSendSE || op == rdmap.OpSendSEInvalidate,
	}
	if op.Invalidates() {
		m.Invalidated, m.HasInvalidate = transport.STag(h.ULP), true
		switch err := e.table.Invalidate(m.Invalidated); {
		case errors.Is(err, transport.ErrAccess):
			return errCode(rdmap.ProtectionInvalidate)
		case err != nil:
			return errCode(rdmap.ProtectionSTag)
		}
	}
	in.open, in.receive, in.rest, in.len = false, nil, ddp.Payload{}, 0
	in.msnSend++
	in.messages = append(in.messages, m)
	if len(in.messages) == cap(in.messages) {
		e.deliver()
	}
	return nil
}

// readRequest takes an RDMA Read of the peer's.
func (e *endpoint) readRequest(h *ddp.Header, payload []byte) error {
	in := &e.in
	switch {
	case h.MSN != in.msnRead:
		return errCode(rdmap.UntaggedMSNRange)
	case h.MO != 0:
		return errCode(rdmap.UntaggedMO)
	case len(payload) > rdmap.ReadRequestLen:
		return errCode(rdmap.UntaggedTooLong)
	}
	r, err := rdmap.ParseReadRequest(payload)
	if err != nil || !h.Last {
		return errCode(rdmap.OperationUnspecified)
	}
	switch err := e.table.Check(r.SourceSTag, transport.RemoteRead, r.SourceOffset, uint64(r.Len)); {
	case errors.Is(err, transport.ErrBounds) && wraps(r.SourceOffset, uint64(r.Len)):
		return errCode(rdmap.ProtectionWrap)
	case err != nil:
		return errCode(protectionCode(err))
	}
	in.msnRead++
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.queues.responses.Room(1) {
		return errCode(rdmap.UntaggedNoBuffer)
	}
	e.queues.responses.Push(inboundRead{
		sink: r.SinkSTag, sinkOffset: r.SinkOffset,
		source: r.SourceSTag, sourceOffset: r.SourceOffset, left: r.Len, msn: h.MSN,
	})
	return nil
}

// terminate takes the message by which the peer ends the stream. What it says is taken as far as it can be understood, whatever its
// header says besides: there is no answer to a Terminate.
func (e *endpoint) terminate(h *ddp.Header, payload []byte) error {
	t, err := rdmap.ParseTerminate(payload)
	if err != nil && t.Code == 0 {
		t.Code = rdmap.OperationUnspecified
	}
	e.blame(&t)
	return &terminated{t.Err(true)}
}

// blame finds the RDMA Read of ours that a Terminate is about.
func (e *endpoint) blame(t *rdmap.Terminate) {
	h, _, err := ddp.Parse(t.DDPHeader)
	if err != nil || h.Tagged || h.Queue != ddp.QueueReadRequest {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.queues.reads.Len() {
		if r := e.queues.reads.At(i); r.msn == h.MSN && r.number != rtrRead {
			e.queues.requests.blame(r.number, t.Err(true))
		}
	}
}
