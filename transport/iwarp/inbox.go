package iwarp

import (
	"runtime"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// batchMessages is how many messages are delivered together: enough to save work, and few enough
// for both ends to be busy when many are in flight, rather than each to wait until the other has
// handled them all.
const batchMessages = 16

// inbox is the messages that have come and are to be delivered. It belongs to the goroutine that
// receives.
type inbox struct {
	*link
	sender   *sender
	n        int // messages
	messages [batchMessages]transport.Message
}

// add adds a message, and delivers those that are there if there is no room for more.
func (b *inbox) add(m transport.Message) {
	b.messages[b.n] = m
	if b.n++; b.n == len(b.messages) {
		b.deliver()
	}
}

// deliver hands the messages that have come to the upper layer. What is posted meanwhile waits
// until all that was read has been handled, so that it leaves together.
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

// yielding counts the goroutines that receive and have given others their turn.
var yielding atomic.Int32

// yield lets those run first that the messages have woken, if nothing was posted in answer to them:
// what they post leaves together, too, and before this goroutine looks for more, of which there
// will hardly be any.
//
// Not so after a single message while another connection yields. Many are busy then: the turn would
// come back when they all have run, and what this one needs is not in the cache any more. What one
// message leads to has nothing to wait for, so it is sent by who posts it.
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
