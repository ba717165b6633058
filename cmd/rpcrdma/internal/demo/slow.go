package demo

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// slowEndpoint is an endpoint that delays RDMA Reads, from slow until goOn, like a client that is
// slow to read its replies.
type slowEndpoint struct {
	transport.Endpoint
	done chan struct{}

	mu   sync.Mutex // guards what follows
	stop bool
	kept []*transport.WorkRequest
}

func newSlowEndpoint(ep transport.Endpoint) *slowEndpoint {
	e := &slowEndpoint{Endpoint: ep, done: make(chan struct{})}
	go func() {
		<-ep.Done()
		e.goOn() // so that the delayed Reads complete
		close(e.done)
	}()
	return e
}

// Post posts requests, now or later.
func (e *slowEndpoint) Post(wrs ...*transport.WorkRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop && wrs[0].Op == transport.OpRead { // a chain of Reads has nothing else
		e.kept = append(e.kept, wrs...)
		return nil
	}
	return e.Endpoint.Post(wrs...)
}

// Done is closed when all requests have ended.
func (e *slowEndpoint) Done() <-chan struct{} { return e.done }

func (e *slowEndpoint) slow() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stop = true
}

// goOn posts the delayed Reads.
func (e *slowEndpoint) goOn() {
	e.mu.Lock()
	kept := e.kept
	e.kept, e.stop = nil, false
	failed := 0
	for failed < len(kept) && e.Endpoint.Post(kept[failed]) == nil {
		failed++
	}
	e.mu.Unlock()
	for _, wr := range kept[failed:] {
		wr.Done.Complete(wr, transport.ErrFlushed)
	}
}
