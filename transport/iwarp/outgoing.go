package iwarp

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// outgoing is the message that is being cut into segments, and what numbers messages. Who sends, and holds batchMu of the endpoint,
// may use it.
type outgoing struct {
	version uint8 // of DDP and RDMAP
	active  bool
	header  ddp.Header
	payload ddp.Payload
	left    uint64 // bytes of payload

	// response is set for the response to a read of the peer's: its payload is what the window shows, looked up for each segment.
	response bool
	source   transport.STag
	offset   uint64

	ends  bool // it is no message: the window ended, of this end's, ends in its place
	ended transport.STag

	taken    uint64 // number of the work request behind the last that was begun
	complete uint64 // likewise, of those that are in the batch as a whole
	msnSend  uint32
	msnRead  uint32
	sinks    sinkTags
	answered bool // the last message was a response: it is the turn of our own requests

	head    []byte             // of the segment, in its wire form
	request [1]transport.Slice // of a Read Request
	list    []transport.Slice  // of a segment of a response
	pins    []stag.Pin         // of the batch
}

// segmentAlign is what the payload of all segments but the last is a multiple of.
const segmentAlign = 4

// begin begins a message of kind op with header h, whose payload is n bytes of list.
func (o *outgoing) begin(op rdmap.Opcode, h ddp.Header, list []transport.Slice, n uint64) {
	h.Version, h.Control = o.version, rdmap.Control(o.version, op)
	o.active, o.header, o.left, o.response = true, h, n, false
	o.payload = ddp.Payload{List: list}
}

// sendOpcode is the opcode of a Send of some kind.
func sendOpcode(wr *transport.WorkRequest) rdmap.Opcode {
	invalidate, solicited := wr.Op == transport.OpSendInvalidate, wr.Flags&transport.Solicited != 0
	switch {
	case invalidate && solicited:
		return rdmap.OpSendSEInvalidate
	case invalidate:
		return rdmap.OpSendInvalidate
	case solicited:
		return rdmap.OpSendSE
	}
	return rdmap.OpSend
}

// beginSend begins a Send.
func (o *outgoing) beginSend(op rdmap.Opcode, invalidate transport.STag, list []transport.Slice, n uint64) {
	o.msnSend++
	h := ddp.Header{Queue: ddp.QueueSend, MSN: o.msnSend}
	if op.Invalidates() {
		h.ULP = uint32(invalidate)
	}
	o.begin(op, h, list, n)
}

// beginWrite begins an RDMA Write.
func (o *outgoing) beginWrite(to transport.Remote, list []transport.Slice, n uint64) {
	o.begin(rdmap.OpWrite, ddp.Header{Tagged: true, STag: to.STag, Offset: to.Offset}, list, n)
}

// beginRead begins an RDMA Read, and returns what its response will have to be like.
func (o *outgoing) beginRead(number uint64, from transport.Remote, list []transport.Slice, n uint64) outboundRead {
	o.msnRead++
	r := outboundRead{
		number: number, msn: o.msnRead, sink: o.sinks.next(), left: uint32(n), to: ddp.Payload{List: list},
	}
	req := rdmap.ReadRequest{
		SinkSTag: r.sink, SinkOffset: r.offset, Len: r.left,
		SourceSTag: from.STag, SourceOffset: from.Offset,
	}
	o.request[0].Bytes = req.Append(o.request[0].Bytes[:0])
	h := ddp.Header{Queue: ddp.QueueReadRequest, MSN: o.msnRead}
	o.begin(rdmap.OpReadRequest, h, o.request[:], rdmap.ReadRequestLen)
	return r
}

// beginResponse begins the response to an RDMA Read of the peer's.
func (o *outgoing) beginResponse(r *inboundRead) {
	o.begin(rdmap.OpReadResponse, ddp.Header{Tagged: true, STag: r.sink, Offset: r.sinkOffset}, nil, uint64(r.left))
	o.response, o.source, o.offset = true, r.source, r.sourceOffset
}

// segment adds the next segment of the message to the batch. It reports false when the batch is full, and an error when
// the window that the peer reads has ended.
func (o *outgoing) segment(llp ddp.LLP, table *stag.Table) (room bool, err error) {
	n := llp.MaxSegment() - o.header.Len()
	if o.left <= uint64(n) {
		n = int(o.left)
	} else {
		n &^= segmentAlign - 1
	}
	o.header.Last = uint64(n) == o.left
	o.head = o.header.Append(o.head[:0])

	var owner transport.STag
	var pin stag.Pin
	pinned := o.response && n > 0
	if pinned {
		o.list, pin, err = table.Pin(o.list[:0], o.source, o.offset, uint64(n))
		if err != nil {
			return false, err
		}
		o.payload, owner = ddp.Payload{List: o.list}, o.source
	}
	if pinned {
		pin.Lock() // the LLP may read the payload now
	}
	room = llp.Append(o.head, &o.payload, n, owner)
	if pinned {
		pin.Unlock()
	}
	if !room {
		if pinned {
			table.Unpin(pin)
		}
		return false, nil
	}
	if pinned {
		o.pins = append(o.pins, pin)
	}
	if o.header.Tagged {
		o.header.Offset += uint64(n)
	} else {
		o.header.MO += uint32(n)
	}
	o.offset += uint64(n)
	o.left -= uint64(n)
	o.active = !o.header.Last
	return true, nil
}

// unpin lets go of the windows that the batch referred to.
func (o *outgoing) unpin(table *stag.Table) {
	for _, p := range o.pins {
		table.Unpin(p)
	}
	o.pins = o.pins[:0]
}

// detach lets go of one of them.
func (o *outgoing) detach(table *stag.Table, tag transport.STag) {
	kept := o.pins[:0]
	for _, p := range o.pins {
		if p.Tag() == tag {
			table.Unpin(p)
		} else {
			kept = append(kept, p)
		}
	}
	o.pins = kept
}

// maxMessage is the longest message (RFC 5041 section 5.2): lengths and offsets have 32 bits. It is an int everywhere.
const maxMessage = min(math.MaxUint32, math.MaxInt)
