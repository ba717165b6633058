package iwarp

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// maxMessage is the longest message (RFC 5041 section 5.2): lengths and offsets have 32 bits. It is
// an int everywhere.
const maxMessage = min(math.MaxUint32, math.MaxInt)

// segmentAlign is what the payload of all segments but the last is a multiple of.
const segmentAlign = 4

// outgoing is the message that is being cut into segments, and what numbers messages. It is the
// segmenter's.
type outgoing struct {
	version uint8 // of DDP and RDMAP
	active  bool  // there is more of it to cut
	header  ddp.Header
	payload ddp.Payload
	left    uint64 // bytes of payload

	// response is set for the response to an RDMA Read of the peer's: its payload is what the
	// window shows, looked up for each segment.
	response bool
	source   transport.STag
	offset   uint64

	sendMSN uint32
	readMSN uint32
	sinks   sinkTags
	request [1]transport.Slice // a Read Request
}

// begin begins a message of kind op with header h, whose payload is n bytes of list.
func (o *outgoing) begin(op rdmap.Opcode, h ddp.Header, list []transport.Slice, n uint64) {
	h.Version, h.Control = o.version, rdmap.Control(o.version, op)
	o.active, o.header, o.left, o.response = true, h, n, false
	o.payload = ddp.Payload{List: list}
}

// sendOpcode is the opcode of a Send of some kind.
func sendOpcode(wr *transport.WorkRequest) rdmap.Opcode {
	invalidate := wr.Op == transport.OpSendInvalidate
	solicited := wr.Flags&transport.Solicited != 0
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
func (o *outgoing) beginSend(op rdmap.Opcode, invalidate transport.STag, list []transport.Slice,
	n uint64) {
	o.sendMSN++
	h := ddp.Header{Queue: ddp.QueueSend, MSN: o.sendMSN}
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
func (o *outgoing) beginRead(number uint64, from transport.Remote, list []transport.Slice,
	n uint64) outboundRead {
	o.readMSN++
	r := outboundRead{
		number: number, msn: o.readMSN, sink: o.sinks.next(), left: uint32(n),
		to: ddp.Payload{List: list},
	}
	req := rdmap.ReadRequest{
		SinkSTag: r.sink, SinkOffset: r.offset, Len: r.left,
		SourceSTag: from.STag, SourceOffset: from.Offset,
	}
	o.request[0].Bytes = req.Append(o.request[0].Bytes[:0])
	h := ddp.Header{Queue: ddp.QueueReadRequest, MSN: o.readMSN}
	o.begin(rdmap.OpReadRequest, h, o.request[:], rdmap.ReadRequestLen)
	return r
}

// beginResponse begins the response to an RDMA Read of the peer's.
func (o *outgoing) beginResponse(r *inboundRead) {
	h := ddp.Header{Tagged: true, STag: r.sink, Offset: r.sinkOffset}
	o.begin(rdmap.OpReadResponse, h, nil, uint64(r.left))
	o.response, o.source, o.offset = true, r.source, r.sourceOffset
}

// cut completes the header of the next segment, of at most size bytes, and returns how much payload
// it has.
func (o *outgoing) cut(size int) int {
	n := size - o.header.Len()
	if o.left <= uint64(n) {
		n = int(o.left)
	} else {
		n &^= segmentAlign - 1
	}
	o.header.Last = uint64(n) == o.left
	return n
}

// advance notes that the segment, with n bytes of payload, is in the batch.
func (o *outgoing) advance(n int) {
	if o.header.Tagged {
		o.header.Offset += uint64(n)
	} else {
		o.header.MO += uint32(n)
	}
	o.offset += uint64(n)
	o.left -= uint64(n)
	o.active = !o.header.Last
}
