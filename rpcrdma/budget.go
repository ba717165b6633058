package rpcrdma

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// budget limits the memory for chunks of the calls under way: of each connection, of each peer host
// (fair.Fits), and of the server. A call reserves its arguments and its largest reply together, as
// reserving piece by piece could deadlock.
//
// Calls that do not fit wait. Calls of one host are served in order of arrival, and hosts in the
// order of claim.precedes. A connection at its own limit, or a host at its share, does not hold up
// others. docs/memory.md shows why each call gets its turn.
type budget struct {
	queued atomic.Int32 // calls that wait; may be read without mu

	mu       sync.Mutex // guards what follows, the shares, and the pins of the Draft
	free     int64      // bytes; some pinned replies do not count (draftpins.go)
	hosts    map[peerhost.Host]*hostShare
	starved  ordered[*hostShare]
	arrivals uint64 // number of calls that ever had to wait
}

// hostShare is a host's part in a budget. It exists while the host has a connection or memory.
type hostShare struct {
	claim
	host    peerhost.Host
	conns   int
	starved ordered[*share] // connections whose first call waits, and not for its own connection
}

func (h *hostShare) before(o *hostShare) bool { return h.precedes(&o.claim) }

// share is a connection's part in a budget.
type share struct {
	host    *hostShare
	free    int64
	queue   callQueue // calls that wait for memory
	blocked bool      // none of them may start, because replies are withheld (draftpins.go)
	ordinal int       // the place in host.starved
}

func (s *share) place() *int { return &s.ordinal }

func (s *share) before(o *share) bool {
	return s.queue.First().arrival < o.queue.First().arrival
}

// eligible reports whether a call waits for memory of the host or the server, and not of its own
// connection.
func (s *share) eligible() bool {
	return s.queue.n > 0 && !s.blocked && s.queue.First().needs <= s.free
}

func newBudget(n int64) *budget {
	return &budget{free: n, hosts: make(map[peerhost.Host]*hostShare)}
}

// taken returns how many of n bytes are in use.
func (b *budget) taken(n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return n - b.free
}

// join adds a connection of a host, with a limit of n bytes.
func (b *budget) join(s *share, host peerhost.Host, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[host]
	if h == nil {
		h = &hostShare{host: host}
		b.hosts[host] = h
	}
	h.conns++
	s.host, s.free = h, n
}

// reserve gives a call its memory, or queues it and reports false.
func (b *budget) reserve(s *share, in *incoming) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.queue.n == 0 && !s.blocked && !b.behind(s) && b.fits(s, in.needs) {
		b.grant(s, in)
		return true
	}
	b.arrivals++
	in.arrival = b.arrivals
	s.queue.push(in)
	b.queued.Add(1)
	b.update(s)
	return false
}

// fits reports whether n bytes more are free for a connection.
func (b *budget) fits(s *share, n int64) bool {
	return n <= s.free && fair.Fits(b.free, s.host.has, n)
}

// behind reports whether a new request of a connection has to wait behind other connections of its
// host, or behind hosts that have nothing. Hosts at their share do not count.
func (b *budget) behind(s *share) bool {
	h, others := s.host, len(s.host.starved)
	if s.ordinal > 0 {
		others--
	}
	return others > 0 || len(b.starved) > 0 && b.starved[0] != h && b.starved[0].has == 0
}

// update puts a connection and its host at their places among those that wait, or removes them.
// Call it when the memory of either, the queue, or blocked has changed; b.mu is held.
func (b *budget) update(s *share) {
	h := s.host
	h.starved.set(s, s.eligible())
	if len(h.starved) > 0 {
		first := h.starved[0].queue.First()
		h.need, h.arrival = first.needs, first.arrival
	}
	b.starved.set(h, len(h.starved) > 0)
	if h.conns == 0 && h.has == 0 && b.hosts[h.host] == h {
		delete(b.hosts, h.host)
	}
}

// charge takes n bytes for a connection. A negative n gives them back. b.mu is held.
func (b *budget) charge(s *share, n int64) {
	b.free -= n
	s.free -= n
	s.host.has += n
	b.update(s)
}

// grant gives a call the memory that it needs; b.mu is held.
func (b *budget) grant(s *share, in *incoming) {
	n := in.needs
	in.reserved, in.needs = in.reserved+n, 0
	b.charge(s, n)
}

// tryReserve gives a call the memory that it needs, if that is free and nobody waits for it, or if
// forced.
func (b *budget) tryReserve(s *share, in *incoming, forced bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !forced && (s.queue.n > 0 || b.behind(s) || !b.fits(s, in.needs)) {
		return false
	}
	b.grant(s, in)
	return true
}

// release takes memory back, and continues with the waiting calls that it suffices for.
func (b *budget) release(s *share, n int64) {
	b.mu.Lock()
	b.charge(s, -n)
	next := b.next()
	b.mu.Unlock()
	proceed(next)
}

// proceed continues with calls that have waited. They may be of other connections than the one
// whose goroutine this is. If a handler ends the goroutine, another one goes on with the rest.
func proceed(calls []*incoming) {
	if len(calls) == 0 {
		return
	}
	defer func() {
		if len(calls) > 0 {
			go proceed(calls)
		}
	}()
	for len(calls) > 0 {
		in := calls[0]
		calls = calls[1:]
		in.fetchMessage()
	}
}

// next takes the calls that fit now out of the queues and gives them their memory; b.mu is held. It
// looks at one call more than it takes, however many wait.
func (b *budget) next() (next []*incoming) {
	for len(b.starved) > 0 {
		h := b.starved[0]
		if !fair.Fits(b.free, h.has, h.need) {
			break
		}
		s := h.starved[0]
		in := s.queue.pop()
		b.grant(s, in)
		next = append(next, in)
	}
	b.queued.Add(-int32(len(next)))
	return next
}

// leave removes a connection that has ended, and returns its waiting calls; b.mu is held. Its calls
// under way still give back their memory.
func (b *budget) leave(s *share) (gone []*incoming) {
	for s.queue.n > 0 {
		gone = append(gone, s.queue.pop())
	}
	b.queued.Add(-int32(len(gone)))
	s.host.conns--
	b.update(s)
	return gone
}

// allow returns how many credits to grant to a connection with active calls under way. That is
// most, unless the connection or its host waits for memory. Then it is the number of its calls that
// do not wait.
func (b *budget) allow(s *share, active, most int) int {
	if b.queued.Load() == 0 {
		return most
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.queue.n == 0 && !s.host.waits() {
		return most
	}
	return active - s.queue.n
}

// callQueue is a queue of calls, in order of arrival.
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
