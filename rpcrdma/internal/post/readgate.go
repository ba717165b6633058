package post

import (
	"errors"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ReadGate posts RDMA Reads. It keeps the number under way within the ORD, and within what the peer
// said it serves (maxrdmaread, draft section 6.2). A provider keeps the ORD by itself, but it
// processes requests in order (RFC 5040 section 5.5): everything posted after a waiting Read, such
// as replies, would wait, too.
//
// On a slow path it also limits their bytes (pace), because other messages of the peer wait behind
// the responses.
type ReadGate struct {
	queue *Queue

	mu      sync.Mutex // guards what follows; taken before queue.mu
	limit   int
	active  int
	closed  bool
	pace    pace
	waiting list.List[Chain] // those with Reads that have not been posted
}

// Open makes a ReadGate ready. Set follows.
func (g *ReadGate) Open(q *Queue) { g.queue, g.pace.answers = q, true }

// Set changes the limit, which must be positive, for Reads that are posted from now on.
func (g *ReadGate) Set(n int) {
	g.mu.Lock()
	g.limit = n
	g.mu.Unlock()
}

// Post posts a chain of Reads. The last one gets a Context of nil. For each that completes, done
// must be called.
func (g *ReadGate) Post(ch *Chain) error {
	ch.wrs[len(ch.wrs)-1].Context = nil
	ch.unposted = ch.All()
	for _, wr := range ch.unposted {
		wr.Flags = transport.Signaled
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return net.ErrClosed
	}
	g.waiting.Push(&ch.waiting, ch)
	g.openNext()
	g.mu.Unlock()
	g.queue.poll()
	return nil
}

const (
	// pieces is into how many Reads a bound of bytes is divided, if the limit allows. Several
	// responses in a row keep the path full.
	pieces = 4

	// pieceLeast is how many bytes the pieces have at least if the path holds few: what fits in the
	// cache of a processor beside the rest, so that an xdr.BulkWatcher finds it there.
	pieceLeast = 256 << 10
)

// Divide limits the size of the Reads in a new chain. Before the path is known they stay whole: it
// may be long, and the limit counts Reads.
func (g *ReadGate) Divide(ch *Chain) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pace.rate == 0 {
		return
	}
	most := g.pace.bound() / min(pieces, g.limit)
	if g.limit >= pieces {
		most = min(most, max(pieceLeast, int(g.pace.held())/g.limit))
	}
	if most &^= 4095; ch.most == 0 || most < ch.most {
		ch.most = most
	}
}

// Done notes that a Read of n bytes is complete, and posts further ones.
func (g *ReadGate) Done(n int) {
	g.mu.Lock()
	g.pace.completed(n)
	g.active--
	g.openNext()
	g.mu.Unlock()
	g.queue.poll()
}

// openNext posts the Reads that the limit and the bound allow; g.mu is held.
func (g *ReadGate) openNext() {
	for ch := g.waiting.First(); ch != nil && g.openChain(ch); ch = g.waiting.First() {
	}
}

// openChain posts Reads of the first chain that waits. It reports whether more may be posted, of
// other chains.
func (g *ReadGate) openChain(ch *Chain) (more bool) {
	n := 0
	for most := min(len(ch.unposted), g.limit-g.active); n < most; n++ {
		bytes := transport.TotalLen(ch.unposted[n].Local)
		if !g.pace.room(bytes) {
			break
		}
		g.pace.posted(bytes)
	}
	if n == 0 {
		return false
	}
	// Once its last Read is posted, the chain may be gone.
	batch, all := ch.unposted[:n], n == len(ch.unposted)
	if ch.unposted = ch.unposted[n:]; all {
		g.waiting.Remove(&ch.waiting)
	}
	g.active += n
	if err := g.queue.enqueue(batch); err != nil {
		g.active -= n
		if ch.unposted = ch.list[len(ch.list)-len(ch.unposted)-n:]; all {
			g.waiting.Push(&ch.waiting, ch)
		}
		if !errors.Is(err, net.ErrClosed) {
			go g.queue.fail(err)
		}
		return false // Close completes them
	}
	return all
}

// Close completes the Reads that still wait. The connection has ended.
func (g *ReadGate) Close() {
	g.mu.Lock()
	g.closed = true
	failed := g.waiting
	g.waiting = list.List[Chain]{}
	g.mu.Unlock()
	for ch := failed.First(); ch != nil; ch = failed.First() {
		failed.Remove(&ch.waiting)
		for _, wr := range ch.unposted { // behind the last one the chain may be gone
			wr.Done.Complete(wr, transport.ErrFlushed)
		}
	}
}
