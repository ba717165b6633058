package iwarp

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// maxMessage is the maximum length of a message (RFC 5041 section 5.2): lengths and offsets have 32
// bits.
const maxMessage = math.MaxUint32

// segmentAlign divides the payload length of each segment but the last.
const segmentAlign = 4

// segmenter cuts messages into segments, and fills the LLP's batch with them. It belongs to the
// goroutine that sends, and to whoever holds its mu, since a window may end meanwhile. That mu is
// taken before the link's.
type segmenter struct {
	link *link

	mu       sync.Mutex            // guards what follows, and the LLP's batch
	head     [ddp.UntaggedLen]byte // the encoded header of the segment
	owed     int64                 // bytes of responses minus bytes of requests: whose turn
	ends     bool                  // not a message: the window ended must end now
	taken    uint64                // number of the next request to begin
	complete uint64                // requests below this number are wholly in the batch
	pins     []stag.Pin            // windows that the LLP's batch refers to
	out      outgoing

	ended transport.STag    // tag of a window of this end
	list  []transport.Slice // payload of a response's segment
}

// outgoing is the message that is being cut into segments, and the counters that number messages.
// It belongs to the segmenter.
type outgoing struct {
	version  version
	active   bool // there is more to cut
	response bool // it answers an RDMA Read of the peer
	sendMSN  uint32
	left     uint64 // bytes of payload
	payload  ddp.Payload
	header   ddp.Header

	// The payload of a response comes from a window, which is looked up for each segment.
	source transport.STag
	offset uint64

	readMSN uint32
	sinks   sinkTags
	request [1]transport.Slice // a Read Request
}

// flush fills the batch and sends what the network takes without waiting. It reports whether the
// batch is empty now.
func (s *segmenter) flush() (empty bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fill(); err != nil {
		return false, err
	}
	return s.link.llp.Flush()
}

// fill puts segments in the batch until it is full or there are no more; s.mu is held.
func (s *segmenter) fill() error {
	for {
		if !s.out.active && !s.take() {
			return nil
		}
		if s.ends {
			s.endWindow()
			continue
		}
		room, err := s.segment()
		if err != nil {
			return s.readFailed(err)
		}
		if !room {
			return nil
		}
		if !s.out.active {
			s.concludeMessage()
		}
	}
}

// take begins the next message, if there is one. Our requests and the responses take turns by
// bytes: a small message waits for one response at most, however many others are posted with it.
// s.mu is held.
func (s *segmenter) take() bool {
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sendable() {
		return false
	}
	q, o := &l.queues, &s.out
	if q.rtr != 0 {
		s.takeRTR()
		return true
	}
	wr, waiting := q.nextRequest()
	if q.responses.Len() > 0 && (!waiting || s.owed <= 0) {
		r := q.responses.At(0)
		s.owed = int64(r.left) + 1 // the old balance is dropped, or a pause would count
		o.beginResponse(r)
		return true
	}
	number := q.requests.take()
	s.taken = number + 1
	n := uint64(transport.TotalLen(wr.Local))
	s.owed -= int64(n) + ddp.UntaggedLen
	switch wr.Op {
	case transport.OpInvalidate:
		s.ends, s.ended = true, wr.Invalidate
	case transport.OpWrite:
		o.beginWrite(wr.Remote, wr.Local, n)
	case transport.OpRead:
		q.reads.Push(o.beginRead(number, wr.Remote, wr.Local, n))
	default:
		o.beginSend(sendOpcode(wr), wr.Invalidate, wr.Local, n)
	}
	return true
}

// sendOpcode returns the opcode of a Send.
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

// beginRead begins an RDMA Read, and returns what its response must look like.
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

// beginResponse begins the response to an RDMA Read of the peer.
func (o *outgoing) beginResponse(r *inboundRead) {
	h := ddp.Header{Tagged: true, STag: r.sink, Offset: r.sinkOffset}
	o.begin(rdmap.OpReadResponse, h, nil, uint64(r.left))
	o.response, o.source, o.offset = true, r.source, r.sourceOffset
}

// begin begins a message of kind op with header h, whose payload is n bytes of list.
func (o *outgoing) begin(op rdmap.Opcode, h ddp.Header, list []transport.Slice, n uint64) {
	o.version.stamp(&h, op)
	o.active, o.header, o.left, o.response = true, h, n, false
	o.payload = ddp.Payload{List: list}
}

// segment adds the next segment of the message to the batch. It reports false if the batch is full,
// and fails if the window that the peer reads has ended. s.mu is held.
func (s *segmenter) segment() (room bool, err error) {
	o := &s.out
	n := s.link.llp.MaxSegment() - o.header.Len()
	if o.left <= uint64(n) {
		n = int(o.left)
	} else {
		n &^= segmentAlign - 1
	}
	o.header.Last = uint64(n) == o.left
	head := o.header.Append(s.head[:0])
	if o.response && n > 0 {
		room, err = s.appendWindow(head, n)
	} else {
		room = s.link.llp.Append(head, &o.payload, n, 0)
	}
	if !room {
		return false, err
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

// concludeMessage notes that the whole message is in the batch. s.mu is held.
func (s *segmenter) concludeMessage() {
	s.complete = s.taken
	if s.out.response {
		s.link.mu.Lock()
		s.link.queues.responses.Pop()
		s.link.mu.Unlock()
	}
}

// batchSent notes that the whole batch was sent. It returns the number below which all work
// requests were sent, and whether a message is still being cut.
func (s *segmenter) batchSent() (complete uint64, cutting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pins) > 0 {
		s.unpin()
	}
	return s.complete, s.out.active
}

// cut ends the batch, when nobody sends any more. It keeps the rest of a partly sent segment, and
// adds the last words, if any.
func (s *segmenter) cut(peerGone bool, words []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.llp.Cut(peerGone)
	s.unpin()
	if words != nil {
		atomic.AddUint64(&s.link.counters.stats.TerminatesSent, 1)
		appendTerminate(s.link.llp, s.link.version, words)
	}
}
