package rpcrdma

import (
	"container/heap"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// budget bounds the memory for chunks of the calls under way, of one connection and of the server
// it belongs to. A call reserves its arguments and its largest reply together: reserving piece by
// piece could deadlock. Calls that do not fit wait in the order of their arrival; a connection at
// its own limit does not hold up the others. receiveBudget needs neither the second limit nor the
// heap: there connections wait, and one that waits holds nothing.
type budget struct {
	queued atomic.Int32 // calls that wait, to be read without mu

	mu       sync.Mutex // guards what follows, the shares, and the pins of the Draft
	free     int64
	starved  starved
	arrivals uint64 // of calls that have had to wait
}

// share is a connection's part in a budget.
type share struct {
	free    int64
	queue   callQueue // that wait for memory
	blocked bool      // none of them starts, whatever is free: replies are withheld (draftpins.go)
	place   int       // in budget.starved, from 1 on; 0: not there
}

func newBudget(n int64) *budget { return &budget{free: n} }

// reserve gives a call of a connection its memory, or queues it and reports false.
func (b *budget) reserve(s *share, in *incoming) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := s.queue.n == 0
	if first && len(b.starved) == 0 && !s.blocked && in.needs <= min(s.free, b.free) {
		b.grant(s, in)
		return true
	}
	b.arrivals++
	in.arrival = b.arrivals
	if s.queue.push(in); first {
		b.starve(s)
	}
	b.queued.Add(1)
	return false
}

// starve has the first call of a connection wait for memory of the server, if it waits for that
// alone.
func (b *budget) starve(s *share) {
	if s.place == 0 && s.eligible() {
		heap.Push(&b.starved, s)
	}
}

// eligible reports whether the first call of the connection waits for memory of the server alone.
func (s *share) eligible() bool {
	return s.queue.n > 0 && !s.blocked && s.queue.First().needs <= s.free
}

// charge takes n bytes from what is free; with a negative n it gives them back. b.mu is held.
func (b *budget) charge(s *share, n int64) {
	b.free -= n
	s.free -= n
}

// grant gives a call what it needs; b.mu is held.
func (b *budget) grant(s *share, in *incoming) {
	b.charge(s, in.needs)
	in.reserved, in.needs = in.reserved+in.needs, 0
}

// tryReserve gives a call what it needs, if that is free and nobody waits for it, or if forced.
func (b *budget) tryReserve(s *share, in *incoming, forced bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := s.queue.n > 0 || len(b.starved) > 0
	if !forced && (waiting || in.needs > min(s.free, b.free)) {
		return false
	}
	b.grant(s, in)
	return true
}

// release takes memory back, and has the calls go on that it suffices for.
func (b *budget) release(s *share, n int64) {
	b.mu.Lock()
	b.charge(s, -n)
	next := b.next(s)
	b.mu.Unlock()
	for _, in := range next {
		in.fetchMessage()
	}
}

// next takes the calls that fit now out of the queues, in the order of their arrival; s has got
// memory, or is blocked no more; b.mu is held. It looks at the first call of connections alone, and
// at no more of these than it takes calls of, or finds at their own limit.
func (b *budget) next(s *share) (next []*incoming) {
	b.starve(s)
	for len(b.starved) > 0 {
		s := b.starved[0]
		if s.eligible() && s.queue.First().needs > b.free {
			break
		}
		if s.eligible() { // or pinned replies have it at its own limit; who gives these back asks again
			in := s.queue.pop()
			b.grant(s, in)
			next = append(next, in)
		}
		if s.eligible() {
			heap.Fix(&b.starved, 0)
		} else {
			heap.Pop(&b.starved)
		}
	}
	b.queued.Add(-int32(len(next)))
	return next
}

// remove takes the calls that wait of a connection that has ended out of its queue and returns
// them; b.mu is held.
func (b *budget) remove(s *share) (gone []*incoming) {
	if s.place > 0 {
		heap.Remove(&b.starved, s.place-1)
	}
	for s.queue.n > 0 {
		gone = append(gone, s.queue.pop())
	}
	b.queued.Add(-int32(len(gone)))
	return gone
}

// allow returns how many credits to grant to a connection with so many calls under way: most while
// none of them waits, else as many as its calls that do not wait.
func (b *budget) allow(s *share, active, most int) int {
	if b.queued.Load() == 0 {
		return most
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.queue.n == 0 {
		return most
	}
	return active - s.queue.n
}

// callQueue has calls wait in the order of their arrival.
type callQueue struct {
	list.List[incoming]
	n int
}

func (q *callQueue) push(in *incoming) {
	q.n++
	q.Push(&in.queued, in)
}

func (q *callQueue) pop() *incoming {
	q.n--
	in := q.First()
	q.Remove(&in.queued)
	return in
}

// starved are the connections of which the first call waits for memory of the server alone: a heap,
// by the arrival of these calls.
type starved []*share

func (s starved) Len() int { return len(s) }
func (s starved) Less(i, j int) bool {
	return s[i].queue.First().arrival < s[j].queue.First().arrival
}

func (s starved) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

// Push is for package heap.
func (s *starved) Push(x any) {
	m := x.(*share)
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
