package recordmark

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// budget bounds the memory of the large records of many connections. Who finds too little waits,
// first come first served. It is simpler than the budgets of rpcrdma, where no goroutine waits, and
// each connection has a share: here the receiver of a connection waits, for one record.
type budget struct {
	mu      sync.Mutex // guards what follows
	free    int        // bytes
	waiting list.List[waiter]
}

type waiter struct {
	n       int
	granted chan struct{}
	place   list.Place[waiter]
}

func newBudget(n int) *budget { return &budget{free: n} }

// reserve takes n bytes. It waits until they are free, ctx ends or, unless that is
// zero, the deadline passes.
func (b *budget) reserve(ctx context.Context, n int, deadline time.Time) error {
	b.mu.Lock()
	if b.waiting.First() == nil && n <= b.free {
		b.free -= n
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, granted: make(chan struct{})}
	b.waiting.Push(&w.place, w)
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
		b.waiting.Remove(&w.place)
	} else {
		b.free += n // it was granted meanwhile
	}
	b.grant()
	return err
}

func (b *budget) release(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	b.grant()
}

// grant serves those who wait; b.mu is held.
func (b *budget) grant() {
	for w := b.waiting.First(); w != nil && w.n <= b.free; w = b.waiting.First() {
		b.free -= w.n
		b.waiting.Remove(&w.place)
		close(w.granted)
	}
}
