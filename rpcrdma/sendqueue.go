package rpcrdma

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// sendQueue posts chains of work requests in order. What the endpoint's queue does not take
// waits here until a completion makes room.
type sendQueue struct {
	poller transport.Poller // nil if the endpoint is none
	queued atomic.Int32     // requests that wait, to be read without mu

	mu      sync.Mutex // guards what follows
	waiting []*transport.WorkRequest
	bulk    []*reply // that wait for others, as there is much under way
	pace    pace     // of replies with bulk data
	closed  bool
	one     [1]*transport.WorkRequest

	ep   transport.Endpoint
	fail func(error) // ends the connection
}

// post posts a chain, now or later. Its last request is signaled. When it fails none of the chain
// completes. It may call Completers and MessageHandlers, so nothing that they lock may be held.
func (q *sendQueue) post(wrs []*transport.WorkRequest) error {
	err := q.enqueue(wrs)
	if err == nil {
		q.poll()
	}
	return err
}

// poll does the work of what has been enqueued, if that is for the caller to do. It may call
// Completers and MessageHandlers.
func (q *sendQueue) poll() {
	if q.poller != nil {
		q.poller.Poll()
	}
}

// enqueue is post without the work: it calls nobody, and poll must follow.
func (q *sendQueue) enqueue(wrs []*transport.WorkRequest) error {
	if q.queued.Load() == 0 { // so nothing is overtaken that was posted before
		if err := q.offer(wrs); err == nil || !errors.Is(err, transport.ErrQueueFull) {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(wrs)
}

// postReply grants credits and posts the reply with them. The peer goes by the grant that comes
// last, so replies leave in the order of their grants.
//
// On a slow path a reply with bulk data waits until there is less of that under way, so that others
// can overtake it: they would wait for all that was posted before.
func (q *sendQueue) postReply(r *reply) error {
	q.mu.Lock()
	if r.bulk > 0 && !q.closed && (len(q.bulk) > 0 || !q.pace.room(r.bulk)) {
		q.bulk = append(q.bulk, r)
		q.mu.Unlock()
		return nil
	}
	err := q.addReply(r)
	q.mu.Unlock()
	if err == nil {
		q.poll()
	}
	return err
}

// addReply grants credits and posts the reply; q.mu is held.
func (q *sendQueue) addReply(r *reply) error {
	if err := r.in.c.flow.grant(r.in); err != nil {
		return err
	}
	if r.bulk > 0 {
		q.pace.posted(r.bulk)
	}
	return q.add(r.chain.all())
}

// replySent notes that a reply with n bytes of bulk data has left, and posts others that waited.
func (q *sendQueue) replySent(n int) {
	q.mu.Lock()
	q.pace.completed(n)
	q.mu.Unlock()
	q.postBulk()
}

// postBulk posts replies that wait, as many as may be under way.
func (q *sendQueue) postBulk() {
	for {
		q.mu.Lock()
		if len(q.bulk) == 0 || !q.closed && !q.pace.room(q.bulk[0].bulk) {
			q.mu.Unlock()
			return
		}
		r := q.bulk[0]
		q.bulk = slices.Delete(q.bulk, 0, 1)
		err := q.addReply(r)
		q.mu.Unlock()
		if err != nil {
			r.unposted(err)
		} else {
			q.poll()
		}
	}
}

// add posts requests, or has them wait; q.mu is held.
func (q *sendQueue) add(wrs []*transport.WorkRequest) error {
	if len(q.waiting) == 0 {
		if err := q.offer(wrs); err == nil || !errors.Is(err, transport.ErrQueueFull) {
			return err
		}
	}
	q.waiting = append(q.waiting, wrs...)
	q.flush()
	return nil
}

// offer posts requests, if the endpoint takes them.
func (q *sendQueue) offer(wrs []*transport.WorkRequest) error {
	if q.poller != nil {
		return q.poller.PostPolled(wrs...)
	}
	return q.ep.Post(wrs...)
}

// completed makes use of the room that a completion has made.
func (q *sendQueue) completed() {
	if q.queued.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
}

// flush posts what the endpoint takes; q.mu is held. Each request is signaled, so that even
// a chain longer than the endpoint's queue makes room for its rest.
//
// When the endpoint has ended the rest stays for close: requests complete in the order in
// which they were posted, and the endpoint may not be done with those of the same chain.
func (q *sendQueue) flush() {
	// Said before the endpoint is asked: a completion that finds nothing queued does not
	// come here, and may be the last.
	q.queued.Store(int32(len(q.waiting)))
	n := 0
	for _, wr := range q.waiting {
		wr.Flags |= transport.Signaled
		q.one[0] = wr
		if err := q.ep.Post(q.one[:]...); err != nil {
			if !errors.Is(err, transport.ErrQueueFull) && !errors.Is(err, net.ErrClosed) {
				go q.fail(err) // nothing would ever make room
			}
			break
		}
		n++
	}
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	q.queued.Store(int32(rest))
}

// close completes what still waits. The endpoint has ended and completed everything else.
func (q *sendQueue) close() {
	q.mu.Lock()
	failed := q.waiting
	q.waiting, q.closed = nil, true
	q.queued.Store(0)
	q.mu.Unlock()
	for _, wr := range failed {
		wr.Done.Complete(wr, transport.ErrFlushed)
	}
	q.postBulk() // which fails
}
