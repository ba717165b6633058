package rpcrdma

import (
	"errors"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// readGate posts RDMA Reads, and keeps those under way within what the connection was set up for,
// or what the peer has said to serve (draft section 6.2, maxrdmaread). A provider would keep to the
// first by itself, but requests are processed in order: whatever is posted behind a Read that has
// to wait, replies above all, would wait with it (RFC 5040 section 5.5).
//
// On a slow path their bytes are bounded, too (pace): what the peer sends waits behind the
// responses that it owes.
type readGate struct {
	queue *sendQueue

	mu      sync.Mutex // guards what follows; taken before queue.mu
	limit   int
	active  int
	closed  bool
	pace    pace
	waiting []*transport.WorkRequest
	head    int // of those in waiting that have not been posted
}

// set changes the limit, which is positive, for the Reads that are posted from now on. Those under
// way count.
func (g *readGate) set(n int) {
	g.mu.Lock()
	g.limit = n
	g.mu.Unlock()
}

// post posts a chain of Reads, of which the last becomes the only one with a Context of nil. Each
// completes, and done must be told.
func (g *readGate) post(ch *chain) error {
	ch.wrs[len(ch.wrs)-1].Context = nil
	wrs := ch.all()
	for _, wr := range wrs {
		wr.Flags = transport.Signaled
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return net.ErrClosed
	}
	g.waiting = append(g.waiting, wrs...)
	g.open()
	g.mu.Unlock()
	g.queue.poll()
	return nil
}

// pieces is how many Reads the bound of bytes is divided into, if the limit allows: responses that
// come one after the other keep the path full.
const pieces = 4

// divide has the Reads of a chain that begins be small enough. On a fast path they stay whole, and
// before the path is known: it may be long, and the limit is in Reads.
func (g *readGate) divide(ch *chain) {
	g.mu.Lock()
	known, most := g.pace.rate > 0, g.pace.bound()/min(pieces, g.limit)&^4095
	g.mu.Unlock()
	if known && (ch.most == 0 || most < ch.most) {
		ch.most = most
	}
}

// done makes room for the next Read when one of n bytes is complete.
func (g *readGate) done(n int) {
	g.mu.Lock()
	g.pace.completed(n)
	g.active--
	g.open()
	g.mu.Unlock()
	g.queue.poll()
}

// open posts the Reads that the limit and the bound allow; g.mu is held.
func (g *readGate) open() {
	n := 0
	for most := min(len(g.waiting)-g.head, g.limit-g.active); n < most; n++ {
		bytes := transport.TotalLen(g.waiting[g.head+n].Local)
		if !g.pace.room(bytes) {
			break
		}
		g.pace.posted(bytes)
	}
	if n == 0 {
		return
	}
	batch := g.waiting[g.head : g.head+n]
	if err := g.queue.enqueue(batch); err != nil {
		if !errors.Is(err, net.ErrClosed) {
			go g.queue.fail(err)
		}
		return // close completes them
	}
	g.active += n
	clear(batch)
	if g.head += n; g.head == len(g.waiting) {
		g.waiting, g.head = g.waiting[:0], 0
	}
}

// close completes the Reads that still wait when the connection has ended.
func (g *readGate) close() {
	g.mu.Lock()
	failed := g.waiting[g.head:]
	g.waiting, g.head, g.closed = nil, 0, true
	g.mu.Unlock()
	for _, wr := range failed {
		wr.Done.Complete(wr, transport.ErrFlushed)
	}
}
