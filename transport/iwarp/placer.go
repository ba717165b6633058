package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// placer puts the payload of tagged segments into place: that of an RDMA Write into a window, that
// of the response to one of our RDMA Reads into the memory of the request. It belongs to the
// goroutine that receives.
type placer struct {
	*link
	fetched bool   // an RDMA Read of ours has completed since the last look
	begun   bool   // a part of the response to the oldest RDMA Read has come
	reads   uint64 // RDMA Reads completed so far
	moved   int    // bytes of responses so far

	// See direct.go.
	lent bool      // a window is lent to the LLP
	loan stag.Loan // of that window
}

// segment takes a segment of the tagged model.
func (p *placer) segment(h *ddp.Header, payload []byte) error {
	if !p.version.segment(h) {
		return errCode(rdmap.TaggedVersion)
	}
	switch op, ok := p.version.operation(h); {
	case !ok:
		return errCode(rdmap.OperationVersion)
	case op == rdmap.OpWrite: // with length zero it is not checked (RFC 5040 section 5.1)
		return writeError(h, len(payload), p.Table.Place(h.STag, h.Offset, payload))
	case op == rdmap.OpReadResponse:
		return p.response(h, payload)
	}
	return errCode(rdmap.OperationOpcode)
}

// response places a segment of the response to the oldest RDMA Read.
func (p *placer) response(h *ddp.Header, payload []byte) error {
	read, err := p.answering(h, len(payload))
	if err != nil {
		return err
	}
	fill(&read.to, payload)
	p.answered(h, &read, len(payload))
	return nil
}

// fill copies data to the front of to, and consumes that.
func fill(to *ddp.Payload, data []byte) {
	for len(data) > 0 {
		data = data[copy(to.Next(len(data)), data):]
	}
}

// answering returns the oldest RDMA Read. A segment with n bytes of payload must belong to it.
func (p *placer) answering(h *ddp.Header, n int) (outboundRead, error) {
	p.mu.Lock()
	if p.queues.reads.Len() == 0 {
		p.mu.Unlock()
		return outboundRead{}, errCode(rdmap.OperationOpcode)
	}
	read := *p.queues.reads.At(0)
	p.mu.Unlock()

	switch left := int(read.left); {
	case h.STag != read.sink && (n > 0 || !h.Last || left > 0):
		return read, errCode(rdmap.TaggedSTag)
	case n > left || n > 0 && h.Offset != read.offset || h.Last != (n == left):
		return read, errCode(rdmap.TaggedBounds)
	}
	return read, nil
}

// answered notes that n more bytes of a response are in place.
func (p *placer) answered(h *ddp.Header, read *outboundRead, n int) {
	p.read.Add(uint64(n))
	p.moved += n
	p.begun = !h.Last
	read.offset += uint64(n)
	read.left -= uint32(n)

	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.Last {
		*p.queues.reads.At(0) = *read
		return
	}
	p.queues.reads.Pop()
	p.reads++
	if read.number != rtrRead {
		p.fetched = true
		p.queues.requests.answered(read.number)
	}
}
