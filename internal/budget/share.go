package budget

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// Share is a connection's part in a Budget. Budget.Join makes it one; nothing else may be called
// before. All methods may be called concurrently. Several return what waited and has been granted
// its memory meanwhile, which may belong to any connection: the caller goes on with it.
type Share[T any] struct {
	host  *host[T]
	limit int64
	has   atomic.Int64 // bytes

	blocked atomic.Bool // changed with Budget.mu held

	// Budget.mu guards these.
	queue  list.List[Request[T]]
	queued int // its length
	place  int // in host.starved

	recall  func()
	lent    int    // things that recall takes back
	loan    uint64 // when it was lent the first of them
	lending list.Place[Share[T]]
}

// Request is the need for memory of what waits, and its place in the queue. It is usually embedded
// there. The zero value does not wait.
type Request[T any] struct {
	n       int64 // bytes
	of      *T
	arrival uint64
	place   list.Place[Request[T]]
}

// element is a Share as an element of host.starved: its first request waits for memory of the host
// or of the budget, and not of its own connection.
type element[T any] Share[T]

// Before reports whether the connection is served before another one of its host.
func (s *element[T]) Before(o *element[T]) bool {
	return s.queue.First().arrival < o.queue.First().arrival
}

// Place is for indexheap.
func (s *element[T]) Place() *int { return &s.place }

// starved reports whether the connection belongs into host.starved. Budget.mu is held.
func (s *Share[T]) starved() bool {
	r := s.queue.First()
	return r != nil && !s.blocked.Load() && s.within(r.n)
}

// within reports whether n bytes more are within the connection's own limit.
func (s *Share[T]) within(n int64) bool { return n <= s.limit-s.has.Load() }

// take takes n bytes if they fit, and reports whether it did.
func (s *Share[T]) take(n int64) bool {
	if !s.within(n) || !s.host.take(n) {
		return false
	}
	s.has.Add(n)
	return true
}

// behind reports whether a new request has to wait behind other connections of the host, or behind
// hosts that have nothing. Hosts at their share do not count. Budget.mu is held.
func (s *Share[T]) behind() bool {
	h, others := s.host, s.host.starved.Len()
	if s.place > 0 {
		others--
	}
	first := h.budget.starved.First()
	return others > 0 || first != nil && first != h && first.had == 0
}

// Reserve takes n bytes, which must be within the connection's limit, or else queues r and reports
// false. When its turn comes, the n bytes are taken, and another method of some Share of the Budget
// returns of. Until then r must not be used again.
func (s *Share[T]) Reserve(r *Request[T], of *T, n int64) bool {
	b := s.host.budget
	if b.queued.Load() == 0 && !s.blocked.Load() && s.take(n) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Memory that is given back before this is seen by take. Whoever gives some back after this
	// sees it, and then serves the queue.
	b.queued.Add(1)
	if s.queued == 0 && !s.blocked.Load() && !s.behind() && s.take(n) {
		b.queued.Add(-1)
		return true
	}
	b.arrivals++
	r.n, r.of, r.arrival = n, of, b.arrivals
	s.queue.Push(&r.place, r)
	s.queued++
	b.update(s)
	b.seek()
	return false
}

// Granted returns how many bytes r was granted since it was queued, or 0 if it waits still. From
// then on Cancel gives nothing back for it. Who does not need Cancel does not need Granted.
func (s *Share[T]) Granted(r *Request[T]) int64 {
	b := s.host.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.place.In() {
		return 0
	}
	n := r.n
	r.n = 0
	return n
}

// Cancel makes r no longer wait, or gives back what it was granted.
func (s *Share[T]) Cancel(r *Request[T]) (next []*T) {
	b := s.host.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.place.In() {
		s.dequeue(r)
	} else {
		s.charge(-r.n, -r.n)
	}
	r.n = 0
	b.update(s)
	return b.serve()
}

// dequeue takes r out of the queue. Budget.update must follow. Budget.mu is held.
func (s *Share[T]) dequeue(r *Request[T]) {
	s.queue.Remove(&r.place)
	s.queued--
	s.host.budget.queued.Add(-1)
}

// TryReserve takes n bytes if they fit and nobody waits for them, and reports whether it did. It
// takes even more than the budget has if nobody has any.
func (s *Share[T]) TryReserve(n int64) bool {
	b := s.host.budget
	if b.queued.Load() == 0 {
		return s.take(n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.queued == 0 && !s.behind() && s.take(n)
}

// Force takes n bytes whatever is free.
func (s *Share[T]) Force(n int64) {
	s.charge(n, n)
	s.update()
}

// Exceed takes n bytes whatever is free. If they do not fit in the budget and the host's share, or
// others wait for them, they count for the connection and the host, but take nothing that is free
// for others. Exceed returns of how many bytes that is true: n or 0.
func (s *Share[T]) Exceed(n int64) (beyond int64) {
	if !s.othersWait() && s.host.take(n) {
		s.has.Add(n)
	} else {
		s.charge(n, 0)
		beyond = n
	}
	s.update()
	return beyond
}

// Release gives n bytes back, of which Exceed took some beyond the budget.
func (s *Share[T]) Release(n, beyond int64) (next []*T) {
	h, b := s.host, s.host.budget
	s.charge(-n, beyond-n)
	if b.queued.Load() == 0 && h.conns.Load() > 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(s)
	return b.serve()
}

// charge counts n bytes for the connection and its host, and takes some from what is free.
func (s *Share[T]) charge(n, taken int64) {
	s.has.Add(n)
	s.host.has.Add(n)
	s.host.budget.free.Add(-taken)
}

// update is Budget.update, if anything waits.
func (s *Share[T]) update() {
	b := s.host.budget
	if b.queued.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(s)
}

// Block makes requests of the connection wait, or lets them be granted again.
func (s *Share[T]) Block(blocked bool) (next []*T) {
	b := s.host.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.blocked.Store(blocked)
	b.update(s)
	return b.serve()
}

// Leave removes a connection that has ended. Its requests that wait are gone. What it has is still
// to be given back, and what they were granted.
func (s *Share[T]) Leave() (gone, next []*T) {
	b := s.host.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := s.queue.First(); r != nil; r = s.queue.First() {
		s.dequeue(r)
		r.n = 0
		gone = append(gone, r.of)
	}
	s.blocked.Store(false)
	s.host.conns.Add(-1)
	b.update(s)
	return gone, b.serve()
}

// Waiting returns how many requests of the connection wait.
func (s *Share[T]) Waiting() int {
	b := s.host.budget
	if b.queued.Load() == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.queued
}

// HostWaits reports whether requests of the connection's host wait for memory of the host or of the
// budget.
func (s *Share[T]) HostWaits() bool {
	b := s.host.budget
	if b.queued.Load() == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.host.place > 0
}

// othersWait reports whether others wait that come before a new request of this connection.
func (s *Share[T]) othersWait() bool {
	b := s.host.budget
	if b.queued.Load() == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.behind()
}

// Fits reports whether n bytes more fit, and no others wait for them.
func (s *Share[T]) Fits(n int64) bool {
	return s.within(n) && s.host.fits(s.host.budget.free.Load(), n) && !s.othersWait()
}

// More takes memory for up to n pieces of size bytes, for a connection that has some, and returns
// for how many. What is free beyond what its host has must stay more than what the connection has
// then. So all get less as memory becomes short, and some is left for new hosts and for other
// connections of this host.
func (s *Share[T]) More(n int, size, has int64) int {
	h, b := s.host, s.host.budget
	for !s.othersWait() {
		free := b.free.Load()
		k := min(int64(n), (free-h.has.Load()-has)/(3*size))
		if k <= 0 {
			break
		}
		if b.free.CompareAndSwap(free, free-k*size) {
			h.has.Add(k * size)
			s.has.Add(k * size)
			return int(k)
		}
	}
	return 0
}

// Short reports whether a connection that has some bytes should give back what it does not need.
func (s *Share[T]) Short(has int64) bool {
	return s.host.budget.free.Load()-s.host.has.Load() < has || s.othersWait()
}

// Scarce reports whether all memory is taken, or others wait for it.
func (s *Share[T]) Scarce() bool { return s.host.budget.free.Load() <= 0 || s.othersWait() }
