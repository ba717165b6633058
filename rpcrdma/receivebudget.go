package rpcrdma

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// receiveBudget limits the memory for receives, of all connections of one Serve and of each peer
// host (fair.Fits). A busy connection has memory reserved for everything that its peer may send. An
// idle one has none. All of it is reserved together when the first message comes, and given back
// when the connection is idle again. So a connection that waits for it holds nothing. See
// docs/memory.md.
//
// It takes no lock while no connection waits.
type receiveBudget struct {
	size   int64        // all bytes
	free   atomic.Int64 // free bytes; below 0 if connections had to exceed the budget
	queued atomic.Int32 // connections that wait; may be read without mu
	poor   atomic.Int32 // hosts that wait and have nothing; may be read without mu

	mu       sync.Mutex // guards what follows, and non-atomic fields of hosts and shares
	hosts    map[peerhost.Host]*receiveHost
	starved  ordered[*receiveHost]
	arrivals uint64 // number of connections that ever had to wait
}

// receiveHost is a host's part in a receiveBudget. It exists while the host has a connection or
// memory.
type receiveHost struct {
	host     peerhost.Host
	reserved atomic.Int64 // bytes
	conns    atomic.Int32
	queued   atomic.Int32 // connections that wait

	claim   // as it was when last looked at
	waiting list.List[receiveShare]
}

func (h *receiveHost) before(o *receiveHost) bool { return h.precedes(&o.claim) }

// receiveShare is a connection's part in a receiveBudget, and its place in the queue.
type receiveShare struct {
	host  *receiveHost
	asked bool // it may wait, or may have been given memory; guarded by the connection

	queued  list.Place[receiveShare]
	need    int64
	arrival uint64
	given   int64  // bytes given to it when its turn came
	resume  func() // called then
}

func newReceiveBudget(n int64) *receiveBudget {
	b := &receiveBudget{size: n, hosts: make(map[peerhost.Host]*receiveHost)}
	b.free.Store(n)
	return b
}

// join adds a connection of a host.
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

// leave removes a connection that has ended. It no longer waits, but still gives its memory back.
func (b *receiveBudget) leave(s *receiveShare) {
	b.cancel(s)
	s.host.conns.Add(-1)
	b.release(s, 0)
}

// tryReserve reserves n bytes for a host if they are free and its share allows it. It even reserves
// more bytes than there are if nobody has any.
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

// behind reports whether a new request of a host has to wait behind older ones: of the host itself,
// or of hosts that have nothing. Hosts at their share do not count.
func (b *receiveBudget) behind(h *receiveHost) bool {
	return b.poor.Load() > 0 || h.queued.Load() > 0
}

// reserve reserves n bytes for a connection that has none, and returns how many. If they are not
// free it returns 0, and calls resume when the connection's turn comes. Connections of one host are
// served in order of arrival, and hosts in the order of claim.precedes.
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
		h.queued.Add(1) // before looking at free again, so that a concurrent release is not missed
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

// more reserves memory for up to n receives of size bytes, for a connection that has reserved some,
// and returns for how many. What is free beyond what its host has must stay more than what the
// connection has then. So all get less as memory becomes short, and some is left for new hosts and
// for other connections of this host.
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

// short reports whether a connection that has reserved so much should give back what it does not
// need.
func (b *receiveBudget) short(s *receiveShare, reserved int64) bool {
	return b.behind(s.host) || b.free.Load()-s.host.reserved.Load() < reserved
}

// scarce reports whether all memory is reserved, or a connection has to wait.
func (b *receiveBudget) scarce(s *receiveShare) bool {
	return b.behind(s.host) || b.free.Load() <= 0
}

// force reserves n bytes whatever is free.
func (b *receiveBudget) force(s *receiveShare, n int64) {
	b.free.Add(-n)
	s.host.reserved.Add(n)
}

// cancel makes a connection no longer wait.
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

// serve gives memory to connections that wait, and returns them without self; b.mu is held.
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

// update puts a host at its place among those that wait, or removes it. Call it when the host's
// memory, or its queue, has changed; b.mu is held.
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
