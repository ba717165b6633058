package recordmark

import (
	"container/heap"
	"context"
	"os"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// budget limits the memory of the large records and replies of many connections. Each peer host has
// a fair share (package fair). What finds too little memory waits: within a host in the order of
// arrival, among hosts first the one that has the least, so that memory given back gathers for it.
// The budgets of rpcrdma are more complex, because no goroutine waits there, and each connection
// has a share, too. Here the receiver of a connection waits, for one record.
type budget struct {
	size  int        // total in bytes
	mu    sync.Mutex // guards the fields below, and the shares
	free  int        // in bytes
	hosts map[peerhost.Host]*share
	short poorest // the shares in which something waits
}

// share is the part of a budget that a host has.
type share struct {
	budget  *budget
	host    peerhost.Host
	conns   int
	has     int // in bytes
	waiting list.List[waiter]
	place   int // index in budget.short plus 1; 0 if not there
}

type waiter struct {
	n       int
	granted chan struct{}
	place   list.Place[waiter]
}

func newBudget(n int) *budget {
	return &budget{size: n, free: n, hosts: make(map[peerhost.Host]*share)}
}

// join returns the share of a host for one of its connections. The connection leaves it at its end.
func (b *budget) join(h peerhost.Host) *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.hosts[h]
	if s == nil {
		s = &share{budget: b, host: h}
		b.hosts[h] = s
	}
	s.conns++
	return s
}

// leave ends a connection's use of a share. Memory it still has may be given back later.
func (s *share) leave() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.conns--
	s.forget()
}

// forget removes a host that has nothing; budget.mu is held.
func (s *share) forget() {
	if s.conns == 0 && s.has == 0 {
		delete(s.budget.hosts, s.host)
	}
}

// reserve takes n bytes. It waits until the host may have them, ctx ends, or the deadline passes; a
// zero deadline never passes.
func (s *share) reserve(ctx context.Context, n int, deadline time.Time) error {
	if s.tryReserve(n) {
		return nil
	}
	b := s.budget
	b.mu.Lock()
	w := &waiter{n: n, granted: make(chan struct{})}
	s.waiting.Push(&w.place, w)
	b.settle(s)
	b.mu.Unlock()
	var late <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		late = t.C
	}
	err := os.ErrDeadlineExceeded
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.place.In() {
		s.waiting.Remove(&w.place)
	} else { // it was granted meanwhile
		b.free += n
		s.has -= n
	}
	b.settle(s)
	return err
}

// tryReserve takes n bytes if the host may have them and nothing waits for memory.
func (s *share) tryReserve(n int) bool {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.short) > 0 || !fair.Fits(int64(b.free), int64(s.has), int64(n)) {
		return false
	}
	b.free -= n
	s.has += n
	return true
}

// release gives n bytes back.
func (s *share) release(n int) {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	s.has -= n
	b.settle(s)
	s.forget()
}

// settle updates the position of s in b.short, then grants memory to those that wait, in turn, as
// long as there is enough for the first; b.mu is held.
func (b *budget) settle(s *share) {
	b.order(s)
	for len(b.short) > 0 {
		s := b.short[0]
		w := s.waiting.First()
		if !fair.Fits(int64(b.free), int64(s.has), int64(w.n)) {
			return
		}
		b.free -= w.n
		s.has += w.n
		s.waiting.Remove(&w.place)
		close(w.granted)
		b.order(s)
	}
}

// order updates the position of s in b.short, or removes it.
func (b *budget) order(s *share) {
	switch waits := s.waiting.First() != nil; {
	case waits && s.place == 0:
		heap.Push(&b.short, s)
	case waits:
		heap.Fix(&b.short, s.place-1)
	case s.place > 0:
		heap.Remove(&b.short, s.place-1)
	}
}

// poorest is a heap with the share that has the least first.
type poorest []*share

func (p poorest) Len() int           { return len(p) }
func (p poorest) Less(i, j int) bool { return p[i].has < p[j].has }

func (p poorest) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].place, p[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (p *poorest) Push(x any) {
	s := x.(*share)
	*p = append(*p, s)
	s.place = len(*p)
}

// Pop implements heap.Interface.
func (p *poorest) Pop() any {
	last := len(*p) - 1
	s := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	s.place = 0
	return s
}
