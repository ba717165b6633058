// Package budget shares memory among peer hosts and their connections. What finds too little waits.
//
// A host that has some gets more only if that leaves as much free as the host then has (fair.Fits).
// Requests of one connection are granted in order of arrival. Connections of one host are served in
// the order in which their first requests came, and hosts in the order of host.Before. A connection
// at its own limit, or a host at its share, does not hold up others. docs/memory.md shows why each
// request gets its turn, as long as all memory is given back some time.
//
// Nothing here blocks, and no lock is taken while nothing waits. So requests at the same moment may
// together exceed the limit of a connection or the share of a host. They never exceed the budget.
package budget

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/indexheap"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Budget is an amount of memory. T is what waits for it.
type Budget[T any] struct {
	size   int64        // bytes
	free   atomic.Int64 // bytes; below 0 if Force has exceeded the budget
	queued atomic.Int64 // requests that wait; changed with mu held

	mu       sync.Mutex // guards what follows, and non-atomic fields of hosts and shares
	hosts    map[peerhost.Host]*host[T]
	starved  indexheap.Heap[*host[T]] // those with starved connections
	arrivals uint64                   // requests that ever had to wait

	lending   list.List[host[T]] // hosts whose connections have been lent something
	loans     uint64             // how often a connection has been lent the first thing
	recalling bool               // something is being recalled
}

// New returns a Budget of size bytes.
func New[T any](size int64) *Budget[T] {
	b := &Budget[T]{size: size, hosts: make(map[peerhost.Host]*host[T])}
	b.free.Store(size)
	return b
}

// Size returns the number of all bytes.
func (b *Budget[T]) Size() int64 { return b.size }

// Free returns the number of free bytes. It is below 0 if Force has exceeded the budget.
func (b *Budget[T]) Free() int64 { return b.free.Load() }

// Taken returns the number of bytes in use.
func (b *Budget[T]) Taken() int64 { return b.size - b.free.Load() }

// Queued returns the number of requests that wait.
func (b *Budget[T]) Queued() int { return int(b.queued.Load()) }

// Join adds a connection of a host, which may have limit bytes; without a limit, math.MaxInt64.
func (b *Budget[T]) Join(s *Share[T], name peerhost.Host, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[name]
	if h == nil {
		h = &host[T]{budget: b, name: name}
		b.hosts[name] = h
	}
	h.conns.Add(1)
	s.host, s.limit = h, limit
}

// update puts a connection and its host at their places among those that are starved, or removes
// them. Call it when the memory of either, the connection's queue, or Share.blocked has changed.
// b.mu is held.
func (b *Budget[T]) update(s *Share[T]) {
	h := s.host
	h.starved.Set((*element[T])(s), s.starved())
	h.had = h.has.Load()
	if first := h.starved.First(); first != nil {
		r := first.queue.First()
		h.need, h.arrival = r.n, r.arrival
	}
	b.starved.Set(h, h.starved.Len() > 0)
	if h.conns.Load() == 0 && h.had == 0 && b.hosts[h.name] == h {
		delete(b.hosts, h.name)
	}
}

// serve grants the requests that fit now, and returns what waited. It looks at one request more
// than it grants, however many wait. b.mu is held.
func (b *Budget[T]) serve() (next []*T) {
	for h := b.starved.First(); h != nil; h = b.starved.First() {
		first := h.starved.First()
		s := (*Share[T])(first)
		if b.update(s); b.starved.First() != h || h.starved.First() != first {
			continue // they have more than when they were last looked at
		}
		r := s.queue.First()
		if !h.take(r.n) {
			break
		}
		s.has.Add(r.n)
		s.dequeue(r)
		b.update(s)
		next = append(next, r.of)
	}
	b.seek()
	return next
}
