package recordmark

import (
	"context"
	"os"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
)

// share is a connection's part in the memory for large records and replies. Its receiver waits for
// memory, for one record at a time.
type share struct{ budget.Share[waiter] }

// waiter is a reservation that waits.
type waiter struct {
	budget.Request[waiter]
	granted chan struct{}
}

// reserve takes n bytes. It waits until the connection may have them, ctx ends, or the deadline
// passes; a zero deadline never passes.
func (s *share) reserve(ctx context.Context, n int, deadline time.Time) error {
	if s.TryReserve(int64(n)) {
		return nil
	}
	w := &waiter{granted: make(chan struct{})}
	if s.Reserve(&w.Request, w, int64(n)) {
		return nil
	}
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
	goOn(s.Cancel(&w.Request))
	return err
}

// release gives n bytes back.
func (s *share) release(n int) { goOn(s.Release(int64(n), 0)) }

// leave ends the connection's use of the memory. What it still has may be given back later.
func (s *share) leave() {
	_, next := s.Leave()
	goOn(next)
}

// goOn wakes those that have been granted memory.
func goOn(next []*waiter) {
	for _, w := range next {
		close(w.granted)
	}
}
