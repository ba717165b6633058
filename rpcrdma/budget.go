package rpcrdma

import (
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"
)

// budget bounds the memory for chunks of the calls under way, of one connection and of the server
// it belongs to. A call reserves its arguments and its largest reply together: reserving piece by
// piece could deadlock. Calls that do not fit wait in the order of their arrival; a connection at
// its own limit does not hold up the others.
//
// Replies that the peer has to read are pinned until its RDMA_DONE, beyond the reservation of their
// call. What is pinned waits for nothing but the peer, and that for a limited time. So a reply that
// finds others of its connection pinned may wait for them (it is withheld, draft section 11), and
// does so while there is no room for it, or calls wait for memory, or messages for receives. One
// that finds none is pinned whatever is free: that memory was in use before.
type budget struct {
	queued atomic.Int32 // calls that wait, to be read without mu

	mu       sync.Mutex // guards what follows, and the connBudgets
	free     int64
	starved  starved
	arrivals uint64 // of calls that have had to wait
}

// connBudget is a connection's part in a budget.
type connBudget struct {
	free    int64
	queue   callQueue // that wait for memory
	unready callQueue // that need none, and wait for the replies that are withheld
	place   int       // in budget.starved, from 1 on; 0: not there

	pinned   int         // replies
	owed     int         // RDMA_DONEs to come, for these and for replies whose memory was taken back
	withheld []*incoming // replies, in order
	ended    bool        // the connection: nothing is withheld any more, as nothing would send it
}

// waiting is how many calls of the connection wait.
func (m *connBudget) waiting() int { return m.queue.n + m.unready.n }

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
	case in.reserved == 0 && len(m.withheld) == 0:
		return true
	case in.reserved == 0: // it would only make another reply that cannot leave
		m.unready.push(in)
	default:
		first := m.queue.n == 0
		if first && len(b.starved) == 0 && len(m.withheld) == 0 && in.reserved <= min(m.free, b.free) {
			b.take(in)
			return true
		}
		b.arrivals++
		in.arrival = b.arrivals
		if m.queue.push(in); first {
			b.ask(m)
		}
	}
	b.queued.Add(1)
	return false
}

// ask has the first call of a connection wait for memory of the server, if it waits for that alone.
func (b *budget) ask(m *connBudget) {
	if m.place == 0 && m.eligible() {
		heap.Push(&b.starved, m)
	}
}

// eligible reports whether the first call of the connection waits for memory of the server alone.
func (m *connBudget) eligible() bool {
	return m.queue.n > 0 && len(m.withheld) == 0 && m.queue.first.of.reserved <= m.free
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
	return m.pinned == 0 || in.pinned <= min(m.free, b.free) && len(b.starved) == 0 && !in.c.supply.budget.scarce()
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

// resume starts the calls that can begin, and sends the withheld replies of a connection that can
// leave now; b.mu is held, and unlocked.
func (b *budget) resume(m *connBudget) {
	start := b.ready(m)
	var send []*incoming
	for len(m.withheld) > 0 && b.pinnable(m.withheld[0]) {
		in := m.withheld[0]
		m.withheld = slices.Delete(m.withheld, 0, 1)
		b.takePin(in)
		send = append(send, in)
	}
	if len(send) > 0 && len(m.withheld) == 0 { // then calls of the connection waited behind them
		start = append(start, b.ready(m)...)
	}
	b.mu.Unlock()
	for _, in := range send {
		in.send()
	}
	for _, in := range start {
		in.start()
	}
}

// ready takes the calls that fit now out of the queues, in the order of their arrival; m has got
// memory, or has nothing withheld any more; b.mu is held. It looks at the first call of connections
// alone, and at no more of these than it takes calls of, or finds at their own limit.
func (b *budget) ready(m *connBudget) (start []*incoming) {
	if len(m.withheld) == 0 {
		for m.unready.n > 0 {
			start = append(start, m.unready.pop())
		}
	}
	b.ask(m)
	for len(b.starved) > 0 {
		m := b.starved[0]
		switch {
		case !m.eligible(): // what is pinned is its own limit, too; who gives that back asks again
			heap.Pop(&b.starved)
			continue
		case m.queue.first.of.reserved > b.free:
			b.queued.Add(-int32(len(start)))
			return start
		}
		in := m.queue.pop()
		b.take(in)
		start = append(start, in)
		if m.eligible() {
			heap.Fix(&b.starved, 0)
		} else {
			heap.Pop(&b.starved)
		}
	}
	b.queued.Add(-int32(len(start)))
	return start
}

// remove takes the waiting calls and the withheld replies of a connection that has ended out of the
// queues and returns them.
func (b *budget) remove(c *Conn) (gone []*incoming) {
	b.mu.Lock()
	m := &c.memory
	m.ended = true
	if m.place > 0 {
		heap.Remove(&b.starved, m.place-1)
	}
	for _, q := range []*callQueue{&m.queue, &m.unready} {
		for q.n > 0 {
			in := q.pop()
			in.reserved = 0
			gone = append(gone, in)
		}
	}
	b.queued.Add(-int32(len(gone)))
	for _, in := range m.withheld {
		in.pinned = 0
		gone = append(gone, in)
	}
	m.withheld = nil
	start := b.ready(m) // what waited behind them
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
	case m.waiting() == 0:
		return c.cfg.Credits, false
	}
	return active - m.waiting(), false
}

// callQueue has calls wait in the order of their arrival.
type callQueue struct {
	list[incoming]
	n int
}

func (q *callQueue) push(in *incoming) {
	q.n++
	q.list.push(&in.queued, in)
}

func (q *callQueue) pop() *incoming {
	q.n--
	in := q.first.of
	q.remove(&in.queued)
	return in
}

// starved are the connections of which the first call waits for memory of the server alone: a heap,
// by the arrival of these calls.
type starved []*connBudget

func (s starved) Len() int { return len(s) }
func (s starved) Less(i, j int) bool {
	return s[i].queue.first.of.arrival < s[j].queue.first.of.arrival
}

func (s starved) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

// Push is for package heap.
func (s *starved) Push(x any) {
	m := x.(*connBudget)
	*s = append(*s, m)
	m.place = len(*s)
}

// Pop is for package heap.
func (s *starved) Pop() any {
	last := len(*s) - 1
	m := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	m.place = 0
	return m
}
