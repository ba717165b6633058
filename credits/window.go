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
	err      error
	first    *waiter // queue of those that wait for a credit
	last     *waiter
	waiting  int
	spare    *waiter
}

type waiter struct {
	ready      chan struct{} // of capacity 1
	queued     bool
	prev, next *waiter
}

// NewWindow returns a window of one credit (draft section 6.1) that grants open up
// to max.
func NewWindow(max int) *Window {
	return &Window{max: max, limit: 1}
}

// Acquire takes a credit, waiting for one until ctx ends. It returns the credits in use,
// this one included.
func (w *Window) Acquire(ctx context.Context) (int, error) {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return 0, w.err
	}
	if w.first == nil && w.inflight < w.limit {
		defer w.mu.Unlock()
		w.inflight++
		return w.inflight, nil
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
	q.next, w.spare = w.spare, q
	return w.inflight, err
}

// Release gives a credit back with the reply that brought the server's new grant.
func (w *Window) Release(grant uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inflight--
	w.limit = int(min(max(grant, 1), uint32(w.max)))
	w.wake()
}

// Cancel gives a credit back that was not used.
func (w *Window) Cancel() {
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

// State returns the most recent grant, the credits in use, and the calls that wait for one.
func (w *Window) State() (limit, inflight, waiting int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limit, w.inflight, w.waiting
}

func (w *Window) wake() {
	for w.first != nil && w.inflight < w.limit && w.err == nil {
		w.inflight++
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
