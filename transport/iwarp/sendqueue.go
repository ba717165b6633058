package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// sendQueue is the work requests of an endpoint, from Post to their completion. They are numbered as they are
// posted; those below next have been taken for sending, those below sent have left.
type sendQueue struct {
	ring  ring.Ring[sendSlot]
	first uint64 // number of the oldest in the ring
	next  uint64
	sent  uint64
}

type sendSlot struct {
	wr   *transport.WorkRequest
	read bool // the response to an RDMA Read is complete
}

// push appends a request, for which there is room.
func (q *sendQueue) push(wr *transport.WorkRequest) { q.ring.Push(sendSlot{wr: wr}) }

// waiting reports whether there is a request that has not been taken, and returns it.
func (q *sendQueue) waiting() (*transport.WorkRequest, bool) {
	i := int(q.next - q.first)
	if i >= q.ring.Len() {
		return nil, false
	}
	return q.ring.At(i).wr, true
}

// untaken is the number of requests that have not been taken.
func (q *sendQueue) untaken() int { return q.ring.Len() - int(q.next-q.first) }

// answered notes that the response to the RDMA Read number n is complete.
func (q *sendQueue) answered(n uint64) { q.ring.At(int(n - q.first)).read = true }

// done reports whether the oldest request is complete.
func (q *sendQueue) done() bool {
	if q.ring.Len() == 0 {
		return false
	}
	s := q.ring.At(0)
	if s.wr.Op == transport.OpRead {
		return s.read
	}
	return q.first < q.sent
}

// pop removes the oldest request, if any.
func (q *sendQueue) pop() (*transport.WorkRequest, bool) {
	s, ok := q.ring.Pop()
	if ok {
		q.first++
		q.next = max(q.next, q.first)
		q.sent = max(q.sent, q.first)
	}
	return s.wr, ok
}
