package faultnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// endpoint wraps one. Messages do not go through it, and completions do.
type endpoint struct {
	transport.Endpoint
	provider *Provider
	domain   transport.Domain
	woken    chan struct{} // has room for one
	done     chan struct{}

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	queue  []*request // those that have not completed here, in order
	sent   int        // how many of them the endpoint below has got
	last   struct{ post, complete time.Time }
	full   bool  // the endpoint below has no room, until something completes
	ended  bool  // it takes nothing more
	fault  error // why the connection ends, if by a fault
}

// request is a work request of the poster's, and the copy of it that goes below.
type request struct {
	posted *transport.WorkRequest
	copy   transport.WorkRequest
	at     time.Time     // when it is posted below
	flush  bool          // the connection ends instead
	hold   time.Duration // after its completion

	completed  bool
	err        error
	completeAt time.Time
}

// pollingEndpoint is an endpoint whose work can be done by the goroutine of a caller.
type pollingEndpoint struct {
	*endpoint
	poller transport.Poller
}

// PostPolled implements transport.Poller.
func (e pollingEndpoint) PostPolled(wrs ...*transport.WorkRequest) error { return e.Post(wrs...) }

// Poll implements transport.Poller.
func (e pollingEndpoint) Poll() { e.poller.Poll() }

// Unwrap is what transport.As goes by.
func (e *endpoint) Unwrap() transport.Endpoint { return e.Endpoint }

// Domain implements transport.Endpoint.
func (e *endpoint) Domain() transport.Domain { return e.domain }

// Done implements transport.Endpoint.
func (e *endpoint) Done() <-chan struct{} { return e.done }

// Err implements transport.Endpoint.
func (e *endpoint) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault != nil {
		return e.fault
	}
	return e.Endpoint.Err()
}

func (e *endpoint) opError(op string, err error) error {
	info := e.Info()
	return &transport.OpError{Op: op, Provider: info.Provider, Peer: info.RemoteAddr, Err: err}
}

// Expose implements transport.Endpoint.
func (e *endpoint) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	if e.Err() == nil {
		if err := e.provider.refuse("expose"); err != nil {
			return dst, err
		}
	}
	return e.Endpoint.Expose(dst, list, access)
}

// Post implements transport.Endpoint.
func (e *endpoint) Post(wrs ...*transport.WorkRequest) error {
	info := e.Info()
	if err := info.CheckPost(wrs); err != nil {
		return e.opError("post", err)
	}
	if err := e.Err(); err != nil {
		return e.opError("post", closedError(err))
	}
	e.provider.mu.Lock()
	work := e.provider.work
	e.provider.mu.Unlock()

	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.ended:
		return e.opError("post", net.ErrClosed)
	case len(e.queue)+len(wrs) > info.SendDepth:
		return e.opError("post", transport.ErrQueueFull)
	}
	now := time.Now()
	for _, wr := range wrs {
		r := &request{posted: wr, copy: *wr}
		r.copy.Flags |= transport.Signaled
		r.copy.Done, r.copy.Context = e, r
		// All are drawn for each request, so that no setting changes what another one does.
		delay, hold, flush := e.random.Float64(), e.random.Float64(), e.random.Float64()
		if work.Delay > 0 {
			e.provider.faults.Delayed.Add(1)
		}
		r.at = later(&e.last.post, now.Add(time.Duration(delay*float64(work.Delay))))
		r.hold = time.Duration(hold * float64(work.Hold))
		r.flush = flush < work.Flush
		e.queue = append(e.queue, r)
	}
	e.wake()
	return nil
}

// later returns t, or *last if that is later, and has *last be it.
func later(last *time.Time, t time.Time) time.Time {
	if last.Before(t) {
		*last = t
	}
	return *last
}

func (e *endpoint) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// Complete learns from the endpoint below how a request has ended.
func (e *endpoint) Complete(wr *transport.WorkRequest, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := wr.Context.(*request)
	e.complete(r, err, r.hold)
	e.full = false
	e.wake()
}

// complete has a request complete here, after a while; e.mu is held.
func (e *endpoint) complete(r *request, err error, hold time.Duration) {
	r.completed, r.err = true, err
	r.completeAt = later(&e.last.complete, time.Now().Add(hold))
	if hold > 0 {
		e.provider.faults.Held.Add(1)
	}
}

// run posts requests below, and completes them here, until the connection has ended.
func (e *endpoint) run() {
	below := e.Endpoint.Done()
	for {
		e.mu.Lock()
		next := e.post()
		r, at := e.first()
		e.mu.Unlock()
		if r != nil {
			if r.err != nil || r.posted.Flags&transport.Signaled != 0 {
				r.posted.Done.Complete(r.posted, r.err)
			}
			continue
		}
		if below == nil && e.empty() {
			close(e.done)
			return
		}
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-e.woken:
		case <-due:
		case <-below:
			below = nil
			e.flush()
		}
	}
}

// post posts what is due, and returns when more is, if that is known; e.mu is held.
func (e *endpoint) post() time.Time {
	now := time.Now()
	for !e.ended && !e.full && e.sent < len(e.queue) {
		r := e.queue[e.sent]
		switch {
		case r.at.After(now):
			return r.at
		case r.flush && e.sent > 0: // those ahead complete first
			return time.Time{}
		case r.flush:
			e.fault = e.opError("post", fmt.Errorf("%w: %w", ErrInjected, net.ErrClosed))
			e.ended = true
			e.provider.faults.Flushed.Add(1)
			e.Endpoint.Close()
		default:
			var due []*transport.WorkRequest
			for _, r := range e.queue[e.sent:] {
				if r.flush || r.at.After(now) {
					break
				}
				due = append(due, &r.copy)
			}
			e.postBelow(due)
		}
	}
	return time.Time{}
}

// postBelow posts requests; e.mu is held, as the endpoint below calls nobody meanwhile.
func (e *endpoint) postBelow(wrs []*transport.WorkRequest) {
	switch err := e.Endpoint.Post(wrs...); {
	case err == nil:
		e.sent += len(wrs)
	case errors.Is(err, transport.ErrQueueFull):
		e.full = true
	default: // it has ended, or is of no use
		e.ended = true
		e.Endpoint.Close()
	}
}

// first takes the first request off the queue if it is to complete now. Otherwise it returns
// when it is, if that is known; e.mu is held.
func (e *endpoint) first() (*request, time.Time) {
	if len(e.queue) == 0 || !e.queue[0].completed {
		return nil, time.Time{}
	}
	r := e.queue[0]
	if r.completeAt.After(time.Now()) {
		return nil, r.completeAt
	}
	e.queue = e.queue[1:]
	e.sent--
	return r, time.Time{}
}

// empty reports whether everything has completed.
func (e *endpoint) empty() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue) == 0
}

// flush has all that is left complete, when the endpoint below has ended.
func (e *endpoint) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.sent = len(e.queue)
	for _, r := range e.queue {
		if !r.completed {
			e.complete(r, e.opError("post", transport.ErrFlushed), 0)
		}
	}
}
