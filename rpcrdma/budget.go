package rpcrdma

import (
	"sync"
	"sync/atomic"
)

// budget bounds the memory for chunks of the calls under way, of one connection and of the
// server it belongs to. A call reserves its arguments and its largest reply together:
// reserving piece by piece could deadlock. Calls that do not fit wait in the order of their
// arrival; a connection at its own limit does not hold up the others.
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
}

func newBudget(n int64) *budget { return &budget{free: n} }

// reserve gives in its memory, or queues it and reports false.
func (b *budget) reserve(in *incoming) bool {
	if in.reserved == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &in.c.memory
	switch {
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

// release takes memory back, and starts the calls that it suffices for.
func (b *budget) release(c *Conn, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	b.free += n
	c.memory.free += n
	start := b.ready()
	b.mu.Unlock()
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

// remove takes the waiting calls of a connection that has ended out of the queue and returns
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
	c.memory.waiting = 0
	start := b.ready() // what waited behind them
	b.mu.Unlock()
	for _, in := range start {
		in.start()
	}
	return gone
}

// allow returns the credits that the memory suggests to grant to a connection: as many as
// configured while no call waits, then what did fit.
func (b *budget) allow(c *Conn, active int) int {
	if b.queued.Load() == 0 {
		return c.cfg.Credits
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.memory.waiting == 0 {
		return c.cfg.Credits
	}
	return active - c.memory.waiting
}
