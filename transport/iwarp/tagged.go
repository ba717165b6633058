package iwarp

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// tagged takes a segment of the tagged model: of an RDMA Write, or of the response to an RDMA Read of ours.
func (e *endpoint) tagged(h *ddp.Header, payload []byte) error {
	if h.Version != e.version {
		return errCode(rdmap.TaggedVersion)
	}
	version, op := rdmap.ParseControl(h.Control)
	switch {
	case version != e.version:
		return errCode(rdmap.OperationVersion)
	case op == rdmap.OpWrite:
		return e.written(h, payload)
	case op == rdmap.OpReadResponse:
		return e.readResponse(h, payload)
	}
	return errCode(rdmap.OperationOpcode)
}

// written places a segment of an RDMA Write. A segment of no bytes is not checked (RFC 5040 section 5.1).
func (e *endpoint) written(h *ddp.Header, payload []byte) error {
	return writeError(h, len(payload), e.table.Place(h.STag, h.Offset, payload))
}

// writeError is what to tell the peer about a segment of n bytes that the table refuses with err.
func writeError(h *ddp.Header, n int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrAccess):
		return errCode(rdmap.ProtectionAccess) // DDP has no code for it
	case errors.Is(err, transport.ErrBounds) && wraps(h.Offset, uint64(n)):
		return errCode(rdmap.TaggedWrap)
	case errors.Is(err, transport.ErrBounds):
		return errCode(rdmap.TaggedBounds)
	}
	return errCode(rdmap.TaggedSTag)
}

// wraps reports whether n bytes at off leave the address space at its end.
func wraps(off, n uint64) bool { return off+n-1 < off }

// readResponse places a segment of the response to the oldest RDMA Read.
func (e *endpoint) readResponse(h *ddp.Header, payload []byte) error {
	read, err := e.answering(h, len(payload))
	if err != nil {
		return err
	}
	for rest := payload; len(rest) > 0; {
		rest = rest[copy(read.to.Next(len(rest)), rest):]
	}
	e.readAnswered(h, &read, len(payload))
	return nil
}

// readPlaced is readResponse for n bytes that are in their place.
func (e *endpoint) readPlaced(h *ddp.Header, n int) error {
	read, err := e.answering(h, n)
	if err != nil {
		return err
	}
	for left := n; left > 0; {
		left -= len(read.to.Next(left))
	}
	e.readAnswered(h, &read, n)
	return nil
}

// answering returns the oldest RDMA Read, to which a segment with n bytes of payload must belong.
func (e *endpoint) answering(h *ddp.Header, n int) (outboundRead, error) {
	e.mu.Lock()
	if e.queues.reads.Len() == 0 {
		e.mu.Unlock()
		return outboundRead{}, errCode(rdmap.OperationOpcode)
	}
	read := *e.queues.reads.At(0)
	e.mu.Unlock()

	switch left := int(read.left); {
	case h.STag != read.sink && (n > 0 || !h.Last || left > 0):
		return read, errCode(rdmap.TaggedSTag)
	case n > left || n > 0 && h.Offset != read.offset || h.Last != (n == left):
		return read, errCode(rdmap.TaggedBounds)
	}
	return read, nil
}

// readAnswered notes that n more bytes of a response are in their place.
func (e *endpoint) readAnswered(h *ddp.Header, read *outboundRead, n int) {
	read.offset += uint64(n)
	read.left -= uint32(n)

	e.mu.Lock()
	defer e.mu.Unlock()
	if !h.Last {
		*e.queues.reads.At(0) = *read
		return
	}
	e.queues.reads.Pop()
	if read.number != rtrRead {
		e.in.fetched = true
		e.queues.requests.answered(read.number)
	}
}

// protectionCode is the code for a window that a Read of the peer's may not use.
func protectionCode(err error) rdmap.Code {
	switch {
	case errors.Is(err, transport.ErrAccess):
		return rdmap.ProtectionAccess
	case errors.Is(err, transport.ErrBounds):
		return rdmap.ProtectionBounds
	}
	return rdmap.ProtectionSTag
}
