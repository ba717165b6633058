package post

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// fakeEndpoint is a send queue that runs requests on demand. As on hardware, a request that is not
// signaled keeps its place in the queue until a later one completes.
type fakeEndpoint struct {
	depth  int
	domain transport.Domain
	peer   net.Addr
	full   func() // if set, called when Post finds no room
	done   chan struct{}

	mu     sync.Mutex               // guards what follows
	order  []*transport.WorkRequest // everything posted so far
	queue  []*transport.WorkRequest // everything that has not completed
	ran    int                      // of queue
	closed error
}

func newFakeEndpoint(depth int, d transport.Domain) *fakeEndpoint {
	return &fakeEndpoint{depth: depth, domain: d, done: make(chan struct{})}
}

func (e *fakeEndpoint) Post(wrs ...*transport.WorkRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed != nil {
		return e.closed
	}
	if len(e.queue)+len(wrs) > e.depth {
		if e.full != nil {
			e.full()
		}
		return fmt.Errorf("fake: %w", transport.ErrQueueFull)
	}
	e.order = append(e.order, wrs...)
	e.queue = append(e.queue, wrs...)
	return nil
}

// run runs the next request and reports whether there was one.
func (e *fakeEndpoint) run() bool {
	e.mu.Lock()
	if e.ran == len(e.queue) {
		e.mu.Unlock()
		return false
	}
	wr := e.queue[e.ran]
	e.ran++
	signaled := wr.Flags&transport.Signaled != 0
	if signaled {
		e.queue, e.ran = e.queue[e.ran:], 0
	}
	e.mu.Unlock()
	if signaled {
		wr.Done.Complete(wr, nil)
	}
	return true
}

// finish completes one request, wherever it stands in the queue.
func (e *fakeEndpoint) finish(which func(*transport.WorkRequest) bool) bool {
	e.mu.Lock()
	for i, wr := range e.queue {
		if which(wr) {
			e.queue = append(e.queue[:i:i], e.queue[i+1:]...)
			e.mu.Unlock()
			wr.Done.Complete(wr, nil)
			return true
		}
	}
	e.mu.Unlock()
	return false
}

// end ends the connection in two steps: from the first on Post fails; flush then completes what was
// posted.
func (e *fakeEndpoint) end() (flush func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed == nil {
		e.closed = fmt.Errorf("fake: %w", net.ErrClosed)
	}
	return func() {
		e.mu.Lock()
		rest := e.queue[e.ran:]
		e.queue, e.ran = nil, 0
		e.mu.Unlock()
		for _, wr := range rest {
			wr.Done.Complete(wr, fmt.Errorf("fake: %w", transport.ErrFlushed))
		}
		close(e.done)
	}
}

func (e *fakeEndpoint) posted() []*transport.WorkRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.order[:len(e.order):len(e.order)]
}

func (e *fakeEndpoint) Start(transport.MessageHandler)           {}
func (e *fakeEndpoint) PostRecv(...*transport.RecvRequest) error { return nil }
func (e *fakeEndpoint) Revoke(...transport.Region) error         { return nil }
func (e *fakeEndpoint) Domain() transport.Domain                 { return e.domain }
func (e *fakeEndpoint) Info() transport.Info {
	return transport.Info{RemoteAddr: e.peer, SendDepth: e.depth, RecvDepth: 1024}
}
func (e *fakeEndpoint) Close() error          { return nil }
func (e *fakeEndpoint) Done() <-chan struct{} { return e.done }
func (e *fakeEndpoint) Err() error            { return net.ErrClosed }
func (e *fakeEndpoint) Expose(dst []transport.Region, _ []transport.Slice, _ transport.Access) ([]transport.Region, error) {
	return dst, errors.ErrUnsupported
}
