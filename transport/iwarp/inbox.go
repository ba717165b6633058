package iwarp

import (
	"runtime"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// batchMessages is how many messages are delivered together: enough to save work, but few enough
// that both ends stay busy. With more, each end would wait until the other has handled them all.
const batchMessages = 16

// inbox holds the messages that have arrived and are to be delivered. It belongs to the goroutine
// that receives.
type inbox struct {
	*link
	sender   *sender
	n        int // messages
	messages [batchMessages]transport.Message
}

// add adds a message, and delivers all of them if the inbox is full.
func (b *inbox) add(m transport.Message) {
	b.messages[b.n] = m
	if b.n++; b.n == len(b.messages) {
		b.deliver()
	}
}

// deliver hands the messages to the upper layer. Requests posted meanwhile wait until all that was
// read has been handled, so that they leave together.
func (b *inbox) deliver() {
	if b.n == 0 {
		return
	}
	b.offered.Store(false)
	b.mu.Lock()
	handler, over := b.handler, b.err != nil
	b.sender.corked = true
	b.mu.Unlock()
	if !over {
		handler.Received(b.messages[:b.n])
		b.yield()
	}
	b.drop()
}

// drop forgets the messages.
func (b *inbox) drop() {
	clear(b.messages[:b.n])
	b.n = 0
}

// yielding counts the goroutines that receive and have yielded.
var yielding atomic.Int32

// yield lets the goroutines run first that the messages have woken, if nothing was posted in answer
// yet. What they post then also leaves together, before this goroutine looks for more input, which
// is unlikely to be there.
//
// It does not yield after a single message while another connection yields. Then many connections
// are busy: the turn would come back only when all have run, and this goroutine's data would have
// left the cache. A single message's answers need not wait for others either, so whoever posts them
// sends them.
func (b *inbox) yield() {
	b.mu.Lock()
	answered := b.queues.requests.untaken() > 0
	alone := !answered && b.n == 1 && yielding.Load() > 0
	if alone {
		b.sender.corked = false
	}
	b.mu.Unlock()
	if answered || alone {
		return
	}
	yielding.Add(1)
	runtime.Gosched()
	yielding.Add(-1)
}
