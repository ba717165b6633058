package post

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ErrUnposted completes requests that the endpoint did not get before it ended.
var ErrUnposted = fmt.Errorf("not posted: %w", transport.ErrFlushed)

// Queue posts chains of work requests in order. Requests that the endpoint's queue does not take
// wait here until a completion makes room.
type Queue struct {
	poller transport.Poller // nil if the endpoint is none
	queued atomic.Int32     // requests that wait; may be read without mu

	mu      sync.Mutex // guards what follows
	waiting []*transport.WorkRequest
	bulk    []Reply // replies that wait because much bulk data is under way
	pace    pace    // of replies with bulk data
	closed  bool
	one     [1]*transport.WorkRequest

	ep   transport.Endpoint
	fail func(error) // ends the connection
}

// Reply is a message for PostReply.
type Reply interface {
	// Bulk returns how many bytes of bulk data the reply has (Chain.Bulk).
	Bulk() int
	// Grant completes the message with a grant of credits, and returns its requests, which are
	// posted before the next reply is asked for its grant.
	Grant() (wrs []*transport.WorkRequest, err error)
	// Unposted is called if the reply waited, and then could not be posted.
	Unposted(err error)
}

// Open makes a Queue ready, for an endpoint. fail ends the connection; it must not block.
func (q *Queue) Open(ep transport.Endpoint, fail func(error)) {
	q.ep, q.fail = ep, fail
	q.poller, _ = transport.As[transport.Poller](ep)
}

// Post posts a chain, now or later. Its last request must be signaled. If Post fails, none of the
// chain completes. It may call Completers and MessageHandlers, so hold no lock that they take.
func (q *Queue) Post(wrs []*transport.WorkRequest) error {
	err := q.enqueue(wrs)
	if err == nil {
		q.poll()
	}
	return err
}

// poll does the work of a transport.Poller, if the endpoint is one. It may call Completers and
// MessageHandlers.
func (q *Queue) poll() {
	if q.poller != nil {
		q.poller.Poll()
	}
}

// enqueue is Post without poll, which the caller must call next. It calls no Completers.
func (q *Queue) enqueue(wrs []*transport.WorkRequest) error {
	if q.queued.Load() == 0 { // so this overtakes nothing that was posted before
		if err := q.offer(wrs); err == nil || !errors.Is(err, transport.ErrQueueFull) {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(wrs)
}

// PostCounted is Post for a call whose window must know the order of calls and replies
// (credits.Window.LimitToRefills).
func (q *Queue) PostCounted(wrs []*transport.WorkRequest, w *credits.Window,
	c *credits.Credit) error {
	q.mu.Lock()
	w.Sent(c)
	err := q.add(wrs)
	q.mu.Unlock()
	if err == nil {
		q.poll()
	}
	return err
}

// PostReply grants credits and posts the reply with them. The peer uses the last grant that comes,
// so replies must leave in the order of their grants.
//
// On a slow path a reply with bulk data waits until less of that is under way. Other replies can
// overtake it meanwhile; once it is posted, they would have to wait for it.
func (q *Queue) PostReply(r Reply) error {
	bulk := r.Bulk()
	q.mu.Lock()
	if bulk > 0 && !q.closed && (len(q.bulk) > 0 || !q.pace.room(bulk)) {
		q.bulk = append(q.bulk, r)
		q.mu.Unlock()
		return nil
	}
	err := q.addReply(r, bulk)
	q.mu.Unlock()
	if err == nil {
		q.poll()
	}
	return err
}

// addReply grants credits and posts the reply; q.mu is held.
func (q *Queue) addReply(r Reply, bulk int) error {
	wrs, err := r.Grant()
	if err != nil {
		return err
	}
	if bulk > 0 {
		q.pace.posted(bulk)
	}
	return q.add(wrs)
}

// ReplySent notes that a reply with n bytes of bulk data has left, and posts others that waited.
func (q *Queue) ReplySent(n int) {
	q.mu.Lock()
	q.pace.completed(n)
	q.mu.Unlock()
	q.postBulk()
}

// postBulk posts as many of the waiting replies as may be under way.
func (q *Queue) postBulk() {
	for {
		q.mu.Lock()
		if len(q.bulk) == 0 || !q.closed && !q.pace.room(q.bulk[0].Bulk()) {
			q.mu.Unlock()
			return
		}
		r := q.bulk[0]
		q.bulk = slices.Delete(q.bulk, 0, 1)
		err := q.addReply(r, r.Bulk())
		q.mu.Unlock()
		if err != nil {
			r.Unposted(err)
		} else {
			q.poll()
		}
	}
}

// add posts requests, or makes them wait; q.mu is held.
func (q *Queue) add(wrs []*transport.WorkRequest) error {
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
func (q *Queue) offer(wrs []*transport.WorkRequest) error {
	if q.poller != nil {
		return q.poller.PostPolled(wrs...)
	}
	return q.ep.Post(wrs...)
}

// Completed posts waiting requests after a completion has made room.
func (q *Queue) Completed() {
	if q.queued.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
}

// flush posts as many waiting requests as the endpoint takes; q.mu is held. All of them are
// signaled, so that even a chain longer than the endpoint's queue makes room for its rest.
//
// After the end of the endpoint the rest stays for Close. Requests must complete in order, and the
// endpoint may not have completed earlier ones of the same chain yet.
func (q *Queue) flush() {
	// Set this before asking the endpoint. A completion that finds queued at 0 does not flush, and
	// it may be the last one.
	q.queued.Store(int32(len(q.waiting)))
	n := 0
	for _, wr := range q.waiting {
		wr.Flags |= transport.Signaled
		q.one[0] = wr
		if err := q.ep.Post(q.one[:]...); err != nil {
			if !errors.Is(err, transport.ErrQueueFull) && !errors.Is(err, net.ErrClosed) {
				go q.fail(err) // no completion would flush again
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

// Close completes requests that still wait. The endpoint has ended and completed all others.
func (q *Queue) Close() {
	q.mu.Lock()
	failed := q.waiting
	q.waiting, q.closed = nil, true
	q.queued.Store(0)
	q.mu.Unlock()
	for _, wr := range failed {
		wr.Done.Complete(wr, ErrUnposted)
	}
	q.postBulk() // fails, and ends the calls of these replies
}
