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

// endpoint wraps a provider's endpoint. Completions go through it; messages do not.
type endpoint struct {
	transport.Endpoint
	provider *Provider
	domain   transport.Domain
	woken    chan struct{} // has room for one
	done     chan struct{}

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	queue  []*request // requests that have not completed here, in order
	sent   int        // how many of them were posted to the endpoint below
	last   struct{ post, complete time.Time }
	full   bool  // the queue below is full until something completes
	ended  bool  // the endpoint below takes nothing more
	fault  error // why the connection ends, if by an injected fault
}

// request is a work request, and the copy of it that is posted below.
type request struct {
	posted *transport.WorkRequest
	copy   transport.WorkRequest
	at     time.Time     // when to post it below
	flush  bool          // end the connection instead
	hold   time.Duration // how long to hold its completion back

	completed  bool
	err        error
	completeAt time.Time
}

// pollingEndpoint is an endpoint with the ability transport.Poller.
type pollingEndpoint struct {
	*endpoint
	poller transport.Poller
}

// PostPolled implements transport.Poller.
func (e pollingEndpoint) PostPolled(wrs ...*transport.WorkRequest) error { return e.Post(wrs...) }

// Poll implements transport.Poller.
func (e pollingEndpoint) Poll() { e.poller.Poll() }

// Unwrap returns the endpoint below, for transport.As.
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
		return e.opError("post", transport.ClosedError(err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.ended:
		return e.opError("post", net.ErrClosed)
	case len(e.queue)+len(wrs) > info.SendDepth:
		return e.opError("post", transport.ErrQueueFull)
	}
	var work Work
	work, e.random = e.provider.begin(e.random)
	now := time.Now()
	for _, wr := range wrs {
		r := &request{posted: wr, copy: *wr}
		r.copy.Flags |= transport.Signaled
		r.copy.Done, r.copy.Context = e, r
		// Every request takes the same random numbers, so that one setting does not change what
		// another one does.
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

// later returns the later of t and *last, and sets *last to it.
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

// Complete is called by the endpoint below when a request has ended.
func (e *endpoint) Complete(wr *transport.WorkRequest, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := wr.Context.(*request)
	e.complete(r, err, r.hold)
	e.full = false
	e.wake()
}

// complete makes a request complete here, after hold; e.mu is held.
func (e *endpoint) complete(r *request, err error, hold time.Duration) {
	r.completed, r.err = true, err
	r.completeAt = later(&e.last.complete, time.Now().Add(hold))
	if hold > 0 {
		e.provider.faults.Held.Add(1)
	}
}

// run posts requests below, and completes them here, until the connection has ended. If a Completer
// ends the goroutine, the connection ends, and another goroutine goes on.
func (e *endpoint) run() {
	finished := false
	defer func() {
		if !finished {
			e.deserted()
			go e.run()
		}
	}()
	e.runOn()
	finished = true
}

// deserted ends the connection because a Completer has ended the goroutine that called it.
func (e *endpoint) deserted() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.fault, e.ended = e.opError("call", transport.ErrGoexit), true
		e.Endpoint.Close()
	}
}

// runOn is run. It may begin anew.
func (e *endpoint) runOn() {
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

// post posts the requests that are due. It returns when the next one is due, if that is known; e.mu
// is held.
func (e *endpoint) post() time.Time {
	now := time.Now()
	for !e.ended && !e.full && e.sent < len(e.queue) {
		r := e.queue[e.sent]
		switch {
		case r.at.After(now):
			return r.at
		case r.flush && e.sent > 0: // requests ahead complete first
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

// postBelow posts requests. e.mu is held, because Post never calls a Completer.
func (e *endpoint) postBelow(wrs []*transport.WorkRequest) {
	switch err := e.Endpoint.Post(wrs...); {
	case err == nil:
		e.sent += len(wrs)
	case errors.Is(err, transport.ErrQueueFull):
		e.full = true
	default: // the endpoint below has ended or is of no use
		e.ended = true
		e.Endpoint.Close()
	}
}

// first takes the first request off the queue if it is due to complete. Otherwise it returns when
// it will be, if that is known; e.mu is held.
func (e *endpoint) first() (*request, time.Time) {
	if len(e.queue) == 0 || !e.queue[0].completed {
		return nil, time.Time{}
	}
	r := e.queue[0]
	if r.completeAt.After(time.Now()) {
		return nil, r.completeAt
	}
	e.queue[0] = nil
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

// flush makes all remaining requests complete after the end of the endpoint below.
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
