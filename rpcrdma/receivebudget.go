package rpcrdma

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// receiveBudget bounds the memory of receives of the connections of one Serve, and of those of each
// peer host (fair.Fits). A connection that has anything under way has reserved memory for all that
// its peer may send; an idle one has none, though its peer may send as many messages. The memory
// for all of them is reserved together, when the first comes, and given back when the connection is
// idle again. So who waits for it holds nothing. As long as nobody waits nothing takes a lock.
type receiveBudget struct {
	size   int64        // bytes, all of them
	free   atomic.Int64 // of these; below zero where connections had to have more
	queued atomic.Int32 // connections that wait, to be read without mu
	poor   atomic.Int32 // hosts that wait and have nothing, to be read without mu

	mu       sync.Mutex // guards what follows, and what of hosts and shares is not atomic
	hosts    map[peerhost.Host]*receiveHost
	starved  ordered[*receiveHost]
	arrivals uint64 // of connections that have had to wait
}

// receiveHost is a host's part in a receiveBudget. It is there while the host has a connection or
// memory.
type receiveHost struct {
	host     peerhost.Host
	reserved atomic.Int64 // bytes
	conns    atomic.Int32
	queued   atomic.Int32 // of these, those that wait

	claim   // as it was when last looked at
	waiting list.List[receiveShare]
}

func (h *receiveHost) before(o *receiveHost) bool { return h.precedes(&o.claim) }

// receiveShare is a connection's part in a receiveBudget, and its place in the queue.
type receiveShare struct {
	host  *receiveHost
	asked bool // it may be waiting, or have been given something; the connection's own

	queued  list.Place[receiveShare]
	need    int64
	arrival uint64
	given   int64  // when it need not wait any more
	resume  func() // called then
}

func newReceiveBudget(n int64) *receiveBudget {
	b := &receiveBudget{size: n, hosts: make(map[peerhost.Host]*receiveHost)}
	b.free.Store(n)
	return b
}

// join has a connection of a host take part.
func (b *receiveBudget) join(s *receiveShare, host peerhost.Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[host]
	if h == nil {
		h = &receiveHost{host: host}
		b.hosts[host] = h
	}
	h.conns.Add(1)
	s.host = h
}

// leave has a connection that has ended take part no more. It waits no more, and still gives back
// what it has.
func (b *receiveBudget) leave(s *receiveShare) {
	b.cancel(s)
	s.host.conns.Add(-1)
	b.release(s, 0)
}

// tryReserve reserves n bytes for a host if they are free, and its share allows it. More than there
// are can be had when nobody has any.
func (b *receiveBudget) tryReserve(h *receiveHost, n int64) bool {
	for {
		free := b.free.Load()
		if !fair.Fits(free, h.reserved.Load(), n) && free < b.size {
			return false
		}
		if b.free.CompareAndSwap(free, free-n) {
			h.reserved.Add(n)
			return true
		}
	}
}

// behind reports whether a host has to wait for others, or for itself. Those at their share do not
// count.
func (b *receiveBudget) behind(h *receiveHost) bool {
	return b.poor.Load() > 0 || h.queued.Load() > 0
}

// reserve reserves n bytes for a connection that has none, and returns how many. If they are not
// free it returns 0, and resumes the connection when they are: those of a host first come, first
// served, and hosts as claim.precedes says.
func (b *receiveBudget) reserve(s *receiveShare, n int64) int64 {
	h := s.host
	if !s.asked && !b.behind(h) && b.tryReserve(h, n) {
		return n
	}
	b.mu.Lock()
	if !s.queued.In() && s.given == 0 {
		b.arrivals++
		s.need, s.arrival = n, b.arrivals
		h.waiting.Push(&s.queued, s)
		h.queued.Add(1) // before another look at what is free: who gives back sees it, or is seen
		b.queued.Add(1)
		b.update(h)
	}
	others := b.serve(s)
	n, s.given = s.given, 0
	s.asked = n == 0
	b.mu.Unlock()
	resume(others)
	return n
}

// more reserves memory for up to n receives of so many bytes, for a connection that has reserved
// some, and returns for how many. What is free beyond what its host has stays more than what the
// connection has then: all get less as it becomes short, and there is something for hosts that come
// new, and for connections of this one.
func (b *receiveBudget) more(s *receiveShare, n int, size, reserved int64) int {
	h := s.host
	for !b.behind(h) {
		free := b.free.Load()
		k := min(int64(n), (free-h.reserved.Load()-reserved)/(3*size))
		if k <= 0 {
			break
		}
		if b.free.CompareAndSwap(free, free-k*size) {
			h.reserved.Add(k * size)
			return int(k)
		}
	}
	return 0
}

// short reports whether a connection with so much should give back what it can do without.
func (b *receiveBudget) short(s *receiveShare, reserved int64) bool {
	return b.behind(s.host) || b.free.Load()-s.host.reserved.Load() < reserved
}

// scarce reports whether all is reserved, or a connection has to wait.
func (b *receiveBudget) scarce(s *receiveShare) bool {
	return b.behind(s.host) || b.free.Load() <= 0
}

// force reserves n bytes whatever is free.
func (b *receiveBudget) force(s *receiveShare, n int64) {
	b.free.Add(-n)
	s.host.reserved.Add(n)
}

// cancel ends the waiting of a connection.
func (b *receiveBudget) cancel(s *receiveShare) {
	if !s.asked {
		return
	}
	s.asked = false
	b.mu.Lock()
	if s.queued.In() {
		b.remove(s)
	}
	n := s.given
	s.given = 0
	b.mu.Unlock()
	b.release(s, n)
}

// release gives n bytes back.
func (b *receiveBudget) release(s *receiveShare, n int64) {
	h := s.host
	h.reserved.Add(-n)
	b.free.Add(n)
	if b.queued.Load() == 0 && h.conns.Load() > 0 {
		return
	}
	b.mu.Lock()
	b.update(h)
	given := b.serve(nil)
	b.mu.Unlock()
	resume(given)
}

// serve gives memory to those who wait, and returns them without self; b.mu is held.
func (b *receiveBudget) serve(self *receiveShare) (given []*receiveShare) {
	for len(b.starved) > 0 {
		h := b.starved[0]
		if b.update(h); b.starved[0] != h {
			continue // it has more than when it was last looked at
		}
		s := h.waiting.First()
		if !b.tryReserve(h, s.need) {
			break
		}
		s.given = s.need
		b.remove(s)
		if s != self {
			given = append(given, s)
		}
	}
	return given
}

// remove takes a connection out of the queue; b.mu is held.
func (b *receiveBudget) remove(s *receiveShare) {
	h := s.host
	h.waiting.Remove(&s.queued)
	h.queued.Add(-1)
	b.queued.Add(-1)
	b.update(h)
}

// update has a host wait where it belongs now, or not: what it has, or who of it waits, has
// changed. b.mu is held.
func (b *receiveBudget) update(h *receiveHost) {
	if h.waits() && h.has == 0 {
		b.poor.Add(-1)
	}
	h.has = h.reserved.Load()
	first := h.waiting.First()
	if first != nil {
		h.need, h.arrival = first.need, first.arrival
	}
	b.starved.set(h, first != nil)
	if h.waits() && h.has == 0 {
		b.poor.Add(1)
	}
	if h.conns.Load() == 0 && h.has == 0 && b.hosts[h.host] == h {
		delete(b.hosts, h.host)
	}
}

func resume(given []*receiveShare) {
	for _, s := range given {
		s.resume()
	}
}
