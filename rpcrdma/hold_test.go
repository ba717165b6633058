package rpcrdma_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// readHolder is a dialer whose connections hold RDMA Reads back until they are released, and note what is posted. They have no abilities beyond Abandon.
type readHolder struct {
	transport.Dialer
	made chan *heldReads
}

func newReadHolder() *readHolder { return &readHolder{made: make(chan *heldReads, 1)} }

func (d *readHolder) wrap(inner transport.Dialer) transport.Dialer {
	d.Dialer = inner
	return d
}

func (d *readHolder) Dial(ctx context.Context, addr string, private []byte) (transport.Endpoint, error) {
	ep, err := d.Dialer.Dial(ctx, addr, private)
	if err != nil {
		return nil, err
	}
	h := &heldReads{Endpoint: ep, reads: make(chan *transport.WorkRequest, 4096), off: make(chan struct{}), done: make(chan struct{})}
	go h.watch()
	d.made <- h
	return h, nil
}

type heldReads struct {
	transport.Endpoint
	reads  chan *transport.WorkRequest // held back
	off    chan struct{}               // closed: nothing is held back any more
	active atomic.Int32                // RDMA Reads under way
	most   atomic.Int32                // of them at any time
	done   chan struct{}

	mu    sync.Mutex // guards what follows, and that nothing is held back any more then
	ended bool
}

// watch completes what is held back when the connection has ended.
func (e *heldReads) watch() {
	<-e.Endpoint.Done()
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	for len(e.reads) > 0 {
		select {
		case wr := <-e.reads:
			wr.Done.Complete(wr, fmt.Errorf("held: %w", transport.ErrFlushed))
		default:
		}
	}
	close(e.done)
}

func (e *heldReads) Done() <-chan struct{} { return e.done }

// releasedRead is told the end of a Read.
type releasedRead struct {
	e  *heldReads
	wr *transport.WorkRequest
}

func (r releasedRead) Complete(_ *transport.WorkRequest, err error) {
	r.e.active.Add(-1)
	r.wr.Done.Complete(r.wr, err)
}

func (e *heldReads) Abandon(r transport.Region) error {
	return e.Endpoint.(transport.Abandoner).Abandon(r)
}

func (e *heldReads) Post(wrs ...*transport.WorkRequest) error {
	if wrs[0].Op != transport.OpRead {
		return e.Endpoint.Post(wrs...)
	}
	select {
	case <-e.off:
		return e.Endpoint.Post(wrs...)
	default:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return net.ErrClosed
	}
	for _, wr := range wrs {
		e.most.Store(max(e.most.Load(), e.active.Add(1)))
		e.reads <- wr
	}
	return nil
}

// release lets the next n Reads go.
func (e *heldReads) release(t testing.TB, n int) {
	t.Helper()
	for range n {
		wr := wait(t, e.reads)
		released := *wr
		released.Flags |= transport.Signaled
		released.Done = releasedRead{e, wr}
		if err := e.Endpoint.Post(&released); err != nil {
			t.Fatal(err)
		}
	}
}

// slowSends is an endpoint of the server whose Sends complete when the test says so. It has no abilities.
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
	if err == nil && r.wr.Op == transport.OpSend {
		r.e.held <- func() { r.wr.Done.Complete(r.wr, nil) }
		return
	}
	r.wr.Done.Complete(r.wr, err)
}
