package recordmark

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"
)

// budget bounds the memory of the large records of many connections. Who finds too
// little waits, first come first served.
type budget struct {
	mu      sync.Mutex // guards what follows
	free    int        // bytes
	waiting []*waiter
}

type waiter struct {
	n       int
	granted chan struct{}
}

func newBudget(n int) *budget { return &budget{free: n} }

// reserve takes n bytes. It waits until they are free, ctx ends or, unless that is
// zero, the deadline passes.
func (b *budget) reserve(ctx context.Context, n int, deadline time.Time) error {
	b.mu.Lock()
	if len(b.waiting) == 0 && n <= b.free {
		b.free -= n
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	b.waiting = append(b.waiting, w)
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
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
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
	for len(b.waiting) > 0 && b.waiting[0].n <= b.free {
		w := b.waiting[0]
		b.free -= w.n
		b.waiting = slices.Delete(b.waiting, 0, 1)
		close(w.granted)
	}
}
