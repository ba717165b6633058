package rpcrdma

import (
	"slices"
	"sync"
	"sync/atomic"
)

// budget bounds the memory for chunks of the calls under way, of one connection and of the
// server it belongs to. A call reserves its arguments and its largest reply together:
// reserving piece by piece could deadlock. Calls that do not fit wait in the order of their
// arrival; a connection at its own limit does not hold up the others.
//
// Replies that the peer has to read are pinned until its RDMA_DONE, beyond the reservation of their call. What is
// pinned waits for nothing but the peer, and that for a limited time. So a reply that finds others of its connection
// pinned may wait for them (it is withheld, draft section 11), and does so while there is no room for it, or calls wait for
// memory, or messages for receives. One that finds none is pinned whatever is free: that memory was in use before.
type budget struct {
	queued atomic.Int32 // len(waiting), to be read without mu

	mu      sync.Mutex // guards what follows, and the connBudgets
	free    int64
	waiting []*incoming
	starved bool   // the first that could start waits for free
	scan    uint64 // counts the passes over waiting
}

// connBudget is a connection's part in a budget.
type connBudget struct {
	free    int64
	waiting int
	blocked uint64 // the pass in which an earlier call did not fit

	pinned   int         // replies
	owed     int         // RDMA_DONEs to come, for these and for replies whose memory was taken back
	withheld []*incoming // replies, in order
	ended    bool        // the connection: nothing is withheld any more, as nothing would send it
}

func newBudget(n int64) *budget { return &budget{free: n} }

// reserve gives in its memory, or queues it and reports false.
func (b *budget) reserve(in *incoming) bool {
	if in.reserved == 0 && !in.c.rules.replyReads {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &in.c.memory
	switch {
	case len(m.withheld) > 0: // it would only make another reply that cannot leave
	case in.reserved == 0:
		return true
	case m.waiting > 0 || in.reserved > m.free:
	case b.starved || in.reserved > b.free:
		b.starved = true
	default:
		b.take(in)
		return true
	}
	m.waiting++
	b.waiting = append(b.waiting, in)
	b.queued.Add(1)
	return false
}

func (b *budget) take(in *incoming) {
	b.free -= in.reserved
	in.c.memory.free -= in.reserved
}

// pin counts a reply that the peer is to read, or withholds it and reports false.
func (b *budget) pin(in *incoming) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &in.c.memory
	if len(m.withheld) > 0 || !b.pinnable(in) {
		m.withheld = append(m.withheld, in)
		return false
	}
	b.takePin(in)
	return true
}

func (b *budget) pinnable(in *incoming) bool {
	m := &in.c.memory
	if m.ended {
		return true
	}
	if m.owed >= in.c.cfg.Credits {
		return false // each has a receive of its own
	}
	// The message of its call, too, stays until the RDMA_DONE. What calls wait for is not to be taken from them again and again.
	return m.pinned == 0 || in.pinned <= min(m.free, b.free) && !b.starved && !in.c.supply.budget.scarce()
}

func (b *budget) takePin(in *incoming) {
	m := &in.c.memory
	m.pinned++
	m.owed++
	m.free -= in.pinned
	b.free -= in.pinned
}

// release takes memory back, reserved and pinned, and starts the calls and sends the replies that it suffices for.
func (b *budget) release(c *Conn, reserved, pinned int64) {
	if reserved == 0 && pinned == 0 {
		return
	}
	b.mu.Lock()
	m := &c.memory
	b.free += reserved + pinned
	m.free += reserved + pinned
	if pinned > 0 {
		m.pinned--
	}
	b.resume(m)
}

// done notes an RDMA_DONE that was owed.
func (b *budget) done(c *Conn) {
	b.mu.Lock()
	m := &c.memory
	if m.owed--; len(m.withheld) == 0 {
		b.mu.Unlock()
		return
	}
	b.resume(m)
}

// resume starts the calls that can begin, and sends the withheld replies of a connection that can leave now; b.mu is held, and unlocked.
func (b *budget) resume(m *connBudget) {
	start := b.ready()
	var send []*incoming
	for len(m.withheld) > 0 && b.pinnable(m.withheld[0]) {
		in := m.withheld[0]
		m.withheld = slices.Delete(m.withheld, 0, 1)
		b.takePin(in)
		send = append(send, in)
	}
	if len(send) > 0 && len(m.withheld) == 0 { // then calls of the connection waited behind them
		start = append(start, b.ready()...)
	}
	b.mu.Unlock()
	for _, in := range send {
		in.send()
	}
	for _, in := range start {
		in.start()
	}
}

// ready takes the calls that fit now out of the queue; b.mu is held.
func (b *budget) ready() (start []*incoming) {
	b.scan++
	b.starved = false
	kept := b.waiting[:0]
	for _, in := range b.waiting {
		m := &in.c.memory
		switch {
		case len(m.withheld) > 0:
		case in.reserved == 0:
			m.waiting--
			start = append(start, in)
			continue
		case b.starved || m.blocked == b.scan:
		case in.reserved > m.free:
			m.blocked = b.scan
		case in.reserved > b.free:
			b.starved = true
		default:
			b.take(in)
			m.waiting--
			start = append(start, in)
			continue
		}
		kept = append(kept, in)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	b.queued.Store(int32(len(kept)))
	return start
}

// remove takes the waiting calls and the withheld replies of a connection that has ended out of the queue and returns
// them.
func (b *budget) remove(c *Conn) (gone []*incoming) {
	b.mu.Lock()
	kept := b.waiting[:0]
	for _, in := range b.waiting {
		if in.c == c {
			in.reserved = 0
			gone = append(gone, in)
		} else {
			kept = append(kept, in)
		}
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	c.memory.waiting, c.memory.ended = 0, true
	for _, in := range c.memory.withheld {
		in.pinned = 0
		gone = append(gone, in)
	}
	c.memory.withheld = nil
	start := b.ready() // what waited behind them
	b.mu.Unlock()
	for _, in := range start {
		in.start()
	}
	return gone
}

// allow returns the credits that the memory suggests to grant to a connection: as many as
// configured while no call waits, then what did fit; none while a reply is withheld, which it tells.
func (b *budget) allow(c *Conn, active int) (n int, withheld bool) {
	if b.queued.Load() == 0 && !c.rules.replyReads {
		return c.cfg.Credits, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &c.memory
	switch {
	case len(m.withheld) > 0:
		return 0, true
	case m.waiting == 0:
		return c.cfg.Credits, false
	}
	return active - m.waiting, false
}
