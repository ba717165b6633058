package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// queues lead from one part of an endpoint to another. The link's mu guards them.
type queues struct {
	rtr ddp.RTR // to send before anything else
	// from Post to the segmenter, and on to the completer
	requests  requestQueue
	reads     ring.Ring[outboundRead] // from the segmenter to the receiver
	responses ring.Ring[inboundRead]  // from the receiver to the segmenter
	ord       int                     // how many reads may be outstanding
	blamed    blame
}

func newQueues(sendDepth int) queues {
	return queues{requests: requestQueue{ring: ring.New[requestSlot](sendDepth)}}
}

// connect makes room for the RDMA Reads agreed on. The RTR of an initiator is the first to be sent.
func (q *queues) connect(s *ddp.Setup) {
	q.reads = ring.New[outboundRead](max(s.ORD, 1)) // an RTR may be a Read even if ORD is 0
	q.responses = ring.New[inboundRead](s.IRD)
	q.ord = s.ORD
	if s.Initiator {
		q.rtr = s.RTR
	}
}

// sendable reports whether there is something to send, and whether this side may send; l.mu is
// held.
func (l *link) sendable() bool {
	return l.heard && l.broken == nil && l.err == nil && l.queues.pending()
}

// pending reports whether something can be sent next.
func (q *queues) pending() bool {
	if q.rtr != 0 || q.responses.Len() > 0 {
		return true
	}
	_, ok := q.nextRequest()
	return ok
}

// nextRequest returns the next work request, unless it must wait for RDMA Reads.
func (q *queues) nextRequest() (*transport.WorkRequest, bool) {
	wr, ok := q.requests.next()
	if !ok {
		return nil, false
	}
	if wr.Flags&transport.Fence != 0 && q.reads.Len() > 0 {
		return nil, false
	}
	if wr.Op == transport.OpRead && q.reads.Len() >= q.ord {
		return nil, false
	}
	return wr, true
}

// requestQueue holds the work requests of an endpoint, from Post to completion, numbered in the
// order of posting. Those below taken are being sent or were sent. Those below sent were sent
// completely.
type requestQueue struct {
	ring  ring.Ring[requestSlot]
	first uint64 // number of the oldest in the ring
	taken uint64
	sent  uint64
}

// blame names the work request that the peer blamed in its Terminate, if fault is not nil.
type blame struct {
	number uint64 // of the work request
	fault  error
}

type requestSlot struct {
	wr   *transport.WorkRequest
	read bool // the response to an RDMA Read is complete
}

// push appends a request. The caller has checked for room.
func (q *requestQueue) push(wr *transport.WorkRequest) { q.ring.Push(requestSlot{wr: wr}) }

// next returns the oldest request that has not been taken, if any.
func (q *requestQueue) next() (*transport.WorkRequest, bool) {
	i := int(q.taken - q.first)
	if i >= q.ring.Len() {
		return nil, false
	}
	return q.ring.At(i).wr, true
}

// take takes the request that next returned, and returns its number.
func (q *requestQueue) take() uint64 {
	q.taken++
	return q.taken - 1
}

// untaken returns the number of requests not yet taken.
func (q *requestQueue) untaken() int { return q.ring.Len() - int(q.taken-q.first) }

// answered notes that the response to the RDMA Read number n is complete.
func (q *requestQueue) answered(n uint64) { q.ring.At(int(n - q.first)).read = true }

// done reports whether the oldest request is complete.
func (q *requestQueue) done() bool {
	if q.ring.Len() == 0 {
		return false
	}
	s := q.ring.At(0)
	if s.wr.Op == transport.OpRead {
		return s.read
	}
	return q.first < q.sent
}

// signaled reports whether the oldest request asks for a completion. The queue must not be empty.
func (q *requestQueue) signaled() bool { return q.ring.At(0).wr.Flags&transport.Signaled != 0 }

// pop removes the oldest request, if any.
func (q *requestQueue) pop() (*transport.WorkRequest, bool) {
	s, ok := q.ring.Pop()
	if ok {
		q.first++
		q.taken = max(q.taken, q.first)
		q.sent = max(q.sent, q.first)
	}
	return s.wr, ok
}
