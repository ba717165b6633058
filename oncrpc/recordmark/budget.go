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

// budget bounds the memory of the large records and replies of many connections, with a fair share
// for each peer host (package fair). What finds too little waits: of a host in the order of
// arrival, and of the hosts that with the least comes first, so that what others give back gathers
// for it. It is simpler than the budgets of rpcrdma, where no goroutine waits, and each connection
// has a share, too: here the receiver of a connection waits, for one record.
type budget struct {
	size  int        // bytes, all of them
	mu    sync.Mutex // guards what follows, and the shares
	free  int        // bytes
	hosts map[peerhost.Host]*share
	short poorest // of these, those for which something waits
}

// share is what a host has of a budget.
type share struct {
	budget  *budget
	host    peerhost.Host
	conns   int
	has     int // bytes
	waiting list.List[waiter]
	place   int // in budget.short, from 1 on; 0: not there
}

type waiter struct {
	n       int
	granted chan struct{}
	place   list.Place[waiter]
}

func newBudget(n int) *budget {
	return &budget{size: n, free: n, hosts: make(map[peerhost.Host]*share)}
}

// join returns the share of a connection's host, until leave.
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

// leave ends a connection's part in a share. What it has it may give back later.
func (s *share) leave() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.conns--
	s.forget()
}

// forget forgets a host that has nothing; budget.mu is held.
func (s *share) forget() {
	if s.conns == 0 && s.has == 0 {
		delete(s.budget.hosts, s.host)
	}
}

// reserve takes n bytes. It waits until they are there for the host, ctx ends or, unless that is
// zero, the deadline passes.
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

// tryReserve takes n bytes if they are there for the host, and nobody waits for memory.
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

// settle puts s where it belongs among the hosts for which something waits, and serves these, the
// first as long as there is enough for it; b.mu is held.
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

// order has b.short hold s where it belongs, or not at all.
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

// poorest is a heap of shares, that with the least first.
type poorest []*share

func (p poorest) Len() int           { return len(p) }
func (p poorest) Less(i, j int) bool { return p[i].has < p[j].has }

func (p poorest) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].place, p[j].place = i+1, j+1
}

// Push is for package heap.
func (p *poorest) Push(x any) {
	s := x.(*share)
	*p = append(*p, s)
	s.place = len(*p)
}

// Pop is for package heap.
func (p *poorest) Pop() any {
	last := len(*p) - 1
	s := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	s.place = 0
	return s
}
