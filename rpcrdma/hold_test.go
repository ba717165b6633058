package rpcrdma_test

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// heldRequests is an endpoint that holds work requests of one operation back until the test
// releases them, as a slow provider or peer does. When the connection ends, those are flushed.
type heldRequests struct {
	transporttest.FullEndpoint
	op      transport.Op
	holding atomic.Bool                 // if unset, posted requests are not held back
	queue   chan *transport.WorkRequest // in posting order
	// If set, the end waits for it after the flush, while holding.
	flushed chan struct{}
	done    chan struct{}

	active, most atomic.Int32 // requests held, or released but not complete: now, and at most

	mu    sync.Mutex // guards ended
	ended bool       // no request is held back any more
}

func holdRequests(ep transport.Endpoint, op transport.Op) *heldRequests {
	return &heldRequests{
		FullEndpoint: ep.(transporttest.FullEndpoint), op: op,
		queue: make(chan *transport.WorkRequest, 4096), done: make(chan struct{}),
	}
}

// heldReads returns where the RDMA Reads of a client are held, once it has dialled, and how to wrap
// its endpoint. It has no abilities beyond Abandon.
func heldReads() (<-chan *heldRequests, endpointWrapper) {
	made := make(chan *heldRequests, 1)
	return made, func(ep transport.Endpoint) transport.Endpoint {
		h := holdRequests(ep, transport.OpRead)
		h.holding.Store(true)
		go h.flush()
		made <- h
		return struct {
			transport.Endpoint
			transport.Abandoner
		}{h, h}
	}
}

// flush completes the held requests when the connection has ended, and ends h.
func (h *heldRequests) flush() {
	<-h.FullEndpoint.Done()
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	for len(h.queue) > 0 {
		select {
		case wr := <-h.queue:
			wr.Done.Complete(wr, fmt.Errorf("held: %w", transport.ErrFlushed))
		default:
		}
	}
	if h.flushed != nil && h.holding.Load() {
		<-h.flushed
	}
	close(h.done)
}

func (h *heldRequests) Done() <-chan struct{} { return h.done }

func (h *heldRequests) Post(wrs ...*transport.WorkRequest) error {
	return h.post(h.FullEndpoint.Post, wrs)
}

func (h *heldRequests) PostPolled(wrs ...*transport.WorkRequest) error {
	return h.post(h.FullEndpoint.PostPolled, wrs)
}

func (h *heldRequests) post(post func(...*transport.WorkRequest) error,
	wrs []*transport.WorkRequest) error {
	if wrs[0].Op != h.op || !h.holding.Load() {
		return post(wrs...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return net.ErrClosed
	}
	for _, wr := range wrs {
		h.most.Store(max(h.most.Load(), h.active.Add(1)))
		h.queue <- wr
	}
	return nil
}

// release posts the next n requests.
func (h *heldRequests) release(t testing.TB, n int) {
	t.Helper()
	for range n {
		wr := wait(t, h.queue)
		released := *wr
		released.Flags |= transport.Signaled
		released.Done = releasedRequest{h, wr}
		if err := h.FullEndpoint.Post(&released); err != nil {
			t.Error(err)
		}
	}
}

// releasedRequest learns of the end of a request that was held.
type releasedRequest struct {
	h  *heldRequests
	wr *transport.WorkRequest
}

func (r releasedRequest) Complete(_ *transport.WorkRequest, err error) {
	r.h.active.Add(-1)
	if err != nil || r.wr.Flags&transport.Signaled != 0 {
		r.wr.Done.Complete(r.wr, err)
	}
}

// slowSends is an endpoint of the server whose Sends arrive at once, but complete when the test
// says so. So do its RDMA Reads. It has no optional interfaces.
type slowSends struct {
	transport.Endpoint
	slow atomic.Bool
	held chan func()
}

func (e *slowSends) Post(wrs ...*transport.WorkRequest) error {
	if !e.slow.Load() {
		return e.Endpoint.Post(wrs...)
	}
	list := make([]*transport.WorkRequest, len(wrs))
	for i, wr := range wrs {
		relayed := *wr
		relayed.Done = relay{e, wr}
		list[i] = &relayed
	}
	return e.Endpoint.Post(list...)
}

// relay passes a completion on.
type relay struct {
	e  *slowSends
	wr *transport.WorkRequest
}

func (r relay) Complete(_ *transport.WorkRequest, err error) {
	if err == nil && (r.wr.Op == transport.OpSend || r.wr.Op == transport.OpRead) {
		r.e.held <- func() { r.wr.Done.Complete(r.wr, nil) }
		return
	}
	r.wr.Done.Complete(r.wr, err)
}
