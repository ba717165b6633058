package rpcrdma

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// sendQueue posts chains of work requests in order. What the endpoint's queue does not take
// waits here until a completion makes room.
type sendQueue struct {
	ep     transport.Endpoint
	queued atomic.Int32 // len(waiting), to be read without mu

	mu      sync.Mutex // guards what follows
	waiting []*transport.WorkRequest
	one     [1]*transport.WorkRequest
}

// signalEvery is the distance in a long chain between requests that complete on success, so that
// a chain longer than the endpoint's queue makes room for itself.
const signalEvery = 16

// post posts a chain, now or later. When it fails none of it completes.
func (q *sendQueue) post(wrs []*transport.WorkRequest) error {
	q.mu.Lock()
	if len(q.waiting) == 0 {
		err := q.ep.Post(wrs...)
		if !errors.Is(err, transport.ErrQueueFull) {
			q.mu.Unlock()
			return err
		}
	}
	q.waiting = append(q.waiting, wrs...)
	failed, err := q.flush()
	q.mu.Unlock()
	complete(failed, err)
	return nil
}

// completed makes use of the room that a completion has made.
func (q *sendQueue) completed() {
	if q.queued.Load() == 0 {
		return
	}
	q.mu.Lock()
	failed, err := q.flush()
	q.mu.Unlock()
	complete(failed, err)
}

// flush posts what the endpoint takes; q.mu is held. If the endpoint has ended, it
// returns what is left, to be completed with err.
func (q *sendQueue) flush() (failed []*transport.WorkRequest, err error) {
	n := 0
	for _, wr := range q.waiting {
		q.one[0] = wr
		if err = q.ep.Post(q.one[:]...); err != nil {
			break
		}
		n++
	}
	if err != nil && !errors.Is(err, transport.ErrQueueFull) {
		failed = append(failed, q.waiting[n:]...)
		n = len(q.waiting)
	}
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	q.queued.Store(int32(rest))
	return failed, err
}

// close completes what still waits when the endpoint has ended.
func (q *sendQueue) close() { q.completed() }

func complete(wrs []*transport.WorkRequest, err error) {
	for _, wr := range wrs {
		wr.Done.Complete(wr, err)
	}
}
