package rpcrdma

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// readGate keeps the RDMA Reads under way within what the peer has said to serve (draft section 6.2,
// maxrdmaread), where that is less than what the connection below was set up for.
type readGate struct {
	limited atomic.Bool // limit is not 0

	mu      sync.Mutex // guards what follows
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

// gated reports whether Reads posted now go through the gate.
func (c *Conn) gated() bool {
	return c.gate.limited.Load()
}

// postReads posts a chain of Reads, of which the last becomes the only one with a Context of nil. Those that are gated each
// complete, and readDone must be told.
func (c *Conn) postReads(ch *chain, gated bool) error {
	last := &ch.wrs[len(ch.wrs)-1]
	last.Flags, last.Context = transport.Signaled, nil
	wrs := ch.all()
	if !gated {
		return c.queue.post(wrs)
	}
	g := &c.gate
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return net.ErrClosed
	}
	for _, wr := range wrs {
		wr.Flags |= transport.Signaled
	}
	g.waiting = append(g.waiting, wrs...)
	c.openGate()
	g.mu.Unlock()
	c.queue.poll()
	return nil
}

// readDone makes room for the next Read.
func (c *Conn) readDone() {
	g := &c.gate
	g.mu.Lock()
	g.active--
	c.openGate()
	g.mu.Unlock()
	c.queue.poll()
}

// openGate posts the Reads that the limit allows; c.gate.mu is held.
func (c *Conn) openGate() {
	g := &c.gate
	n := len(g.waiting)
	if g.limit > 0 { // it may have been lifted
		n = min(n, g.limit-g.active)
	}
	if n <= 0 {
		return
	}
	g.batch = append(g.batch[:0], g.waiting[:n]...)
	if err := c.queue.enqueue(g.batch); err != nil {
		if !errors.Is(err, net.ErrClosed) {
			go c.fail(err)
		}
		return // closeGate completes them
	}
	g.active += n
	rest := copy(g.waiting, g.waiting[n:])
	clear(g.waiting[rest:])
	g.waiting = g.waiting[:rest]
}

// closeGate completes the Reads that still wait when the connection has ended.
func (c *Conn) closeGate() {
	g := &c.gate
	g.mu.Lock()
	failed := g.waiting
	g.waiting, g.closed = nil, true
	g.mu.Unlock()
	for _, wr := range failed {
		wr.Done.Complete(wr, transport.ErrFlushed)
	}
}
