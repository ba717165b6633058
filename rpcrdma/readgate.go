package rpcrdma

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// readGate posts RDMA Reads, and keeps those under way within what the peer has said to serve
// (draft section 6.2, maxrdmaread), where that is less than what the connection below was set up
// for.
type readGate struct {
	queue   *sendQueue
	limited atomic.Bool // limit is not 0

	mu      sync.Mutex // guards what follows; taken before queue.mu
	limit   int        // 0: the connection's own
	active  int
	closed  bool
	waiting []*transport.WorkRequest
	batch   []*transport.WorkRequest
}

// set changes the limit, for Reads posted from now on.
func (g *readGate) set(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = n
	g.limited.Store(n > 0)
}

// limits reports whether Reads posted now are counted. Who posts them has to know before they
// complete.
func (g *readGate) limits() bool { return g.limited.Load() }

// post posts a chain of Reads, of which the last becomes the only one with a Context of nil. Those
// that are counted each complete, and done must be told.
func (g *readGate) post(ch *chain, counted bool) error {
	last := &ch.wrs[len(ch.wrs)-1]
	last.Flags, last.Context = transport.Signaled, nil
	wrs := ch.all()
	if !counted {
		return g.queue.post(wrs)
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return net.ErrClosed
	}
	for _, wr := range wrs {
		wr.Flags |= transport.Signaled
	}
	g.waiting = append(g.waiting, wrs...)
	g.open()
	g.mu.Unlock()
	g.queue.poll()
	return nil
}

// done makes room for the next Read.
func (g *readGate) done() {
	g.mu.Lock()
	g.active--
	g.open()
	g.mu.Unlock()
	g.queue.poll()
}

// open posts the Reads that the limit allows; g.mu is held.
func (g *readGate) open() {
	n := len(g.waiting)
	if g.limit > 0 { // it may have been lifted
		n = min(n, g.limit-g.active)
	}
	if n <= 0 {
		return
	}
	g.batch = append(g.batch[:0], g.waiting[:n]...)
	if err := g.queue.enqueue(g.batch); err != nil {
		if !errors.Is(err, net.ErrClosed) {
			go g.queue.fail(err)
		}
		return // close completes them
	}
	g.active += n
	rest := copy(g.waiting, g.waiting[n:])
	clear(g.waiting[rest:])
	g.waiting = g.waiting[:rest]
}

// close completes the Reads that still wait when the connection has ended.
func (g *readGate) close() {
	g.mu.Lock()
	failed := g.waiting
	g.waiting, g.closed = nil, true
	g.mu.Unlock()
	for _, wr := range failed {
		wr.Done.Complete(wr, transport.ErrFlushed)
	}
}
