package credits

import (
	"context"
	"sync"
)

// Window bounds the calls that a client has under way. Its methods may be called
// concurrently.
type Window struct {
	max int

	mu       sync.Mutex // guards what follows
	limit    int
	inflight int
	begun    uint64   // calls that ever got a credit
	dones    []uint64 // of each RDMA_DONE that the server may not have taken yet: begun, when it was sent
	err      error
	first    *waiter // queue of those that wait for a credit
	last     *waiter
	waiting  int
	spare    *waiter
}

// Credit is the right to have one call under way.
type Credit struct {
	// InUse is the credits in use when it was got, this one included.
	InUse  int
	number uint64
}

type waiter struct {
	credit     Credit
	ready      chan struct{} // of capacity 1
	queued     bool
	prev, next *waiter
}

// NewWindow returns a window of one credit (draft section 6.1) that grants open up
// to max.
func NewWindow(max int) *Window {
	return &Window{max: max, limit: 1}
}

// Acquire takes a credit, waiting for one until ctx ends. One of Release, Done and Cancel gives it back.
func (w *Window) Acquire(ctx context.Context) (Credit, error) {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return Credit{}, w.err
	}
	if w.first == nil && w.free() {
		defer w.mu.Unlock()
		return w.take(), nil
	}
	q := w.enqueue()
	w.mu.Unlock()

	var err error
	if done := ctx.Done(); done == nil {
		<-q.ready
	} else {
		select {
		case <-q.ready:
		case <-done:
			err = ctx.Err()
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case q.queued: // gives its place up
		w.unlink(q)
	case w.err != nil:
		err = w.err
	case err != nil: // the credit came at the same moment: pass it on
		<-q.ready
		w.inflight--
		w.wake()
	}
	c := q.credit
	q.next, w.spare = w.spare, q
	return c, err
}

// free reports whether a call may begin. With no call under way one always may: the server MUST have a credit for a
// client that has no requests outstanding (draft section 3.3), whatever it granted last and however many DONEs it
// has still to take.
func (w *Window) free() bool { return w.inflight == 0 || w.inflight+len(w.dones) < w.limit }

func (w *Window) take() Credit {
	w.inflight++
	w.begun++
	return Credit{InUse: w.inflight + len(w.dones), number: w.begun}
}

// Release gives a credit back with the reply that brought the server's new grant.
func (w *Window) Release(c Credit, grant uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grant(c, grant)
	w.inflight--
	w.wake()
}

// Grant notes the grant of a reply that an RDMA_DONE is to follow: its credit stays in use until Done.
func (w *Window) Grant(c Credit, grant uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grant(c, grant)
	w.wake()
}

// grant takes over the grant in the reply to a call. Sends arrive in order, so the server has taken the DONEs that were sent before
// that call.
func (w *Window) grant(c Credit, n uint32) {
	w.limit = int(min(n, uint32(w.max)))
	i := 0
	for i < len(w.dones) && w.dones[i] < c.number {
		i++
	}
	w.dones = append(w.dones[:0], w.dones[i:]...)
}

// Done notes that the RDMA_DONE of a call has been sent, which ends the call. The DONE uses up a credit in turn (draft section 3.8), until the
// reply to a call that was made later shows that the server has taken it.
func (w *Window) Done(c Credit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inflight--
	w.dones = append(w.dones, w.begun)
	w.wake()
}

// Cancel gives a credit back that was not used.
func (w *Window) Cancel(Credit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inflight--
	w.wake()
}

// Close fails all that wait, now and later, with err.
func (w *Window) Close(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	for w.first != nil {
		w.signal()
	}
}

// State returns the most recent grant, the credits in use by calls and by DONEs, and the calls that wait for one.
func (w *Window) State() (limit, inflight, dones, waiting int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limit, w.inflight, len(w.dones), w.waiting
}

func (w *Window) wake() {
	for w.first != nil && w.free() && w.err == nil {
		w.first.credit = w.take()
		w.signal()
	}
}

// signal wakes the first in the queue.
func (w *Window) signal() {
	q := w.first
	w.unlink(q)
	q.ready <- struct{}{}
}

func (w *Window) enqueue() *waiter {
	q := w.spare
	if q != nil {
		w.spare = q.next
	} else {
		q = &waiter{ready: make(chan struct{}, 1)}
	}
	q.queued, q.prev, q.next = true, w.last, nil
	if w.last != nil {
		w.last.next = q
	} else {
		w.first = q
	}
	w.last = q
	w.waiting++
	return q
}

func (w *Window) unlink(q *waiter) {
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		w.first = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		w.last = q.prev
	}
	q.queued, q.prev, q.next = false, nil, nil
	w.waiting--
}
