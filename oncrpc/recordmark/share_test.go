package recordmark

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// A reservation waits until there is memory, its deadline passes or its context ends. One that has
// ended holds up nobody.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := budget.New[waiter](10)
		var shares [5]share
		for i := range shares {
			memory.Join(&shares[i].Share, peerhost.Host{}, math.MaxInt64)
		}
		reserve := func(ctx context.Context, conn, n int, deadline time.Time) chan error {
			done := make(chan error, 1)
			go func() { done <- shares[conn].reserve(ctx, n, deadline) }()
			synctest.Wait()
			return done
		}
		is := func(done chan error, want error) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-done:
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			default:
				t.Errorf("waits still, want %v", want)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		is(reserve(ctx, 0, 7, time.Time{}), nil)
		first := reserve(context.Background(), 1, 5, time.Now().Add(time.Minute))
		second := reserve(ctx, 2, 4, time.Time{})
		third := reserve(ctx, 3, 1, time.Time{})
		fourth := reserve(context.Background(), 4, 10, time.Time{})
		if n := memory.Queued(); n != 4 {
			t.Errorf("%d wait, want 4", n)
		}
		time.Sleep(time.Minute)
		is(first, os.ErrDeadlineExceeded)
		cancel()
		is(second, context.Canceled)
		is(third, context.Canceled)
		shares[0].release(7)
		is(fourth, nil) // it may take everything, because its host has nothing
		for i := range shares {
			shares[i].leave()
		}
		shares[4].release(10)
		if memory.Taken() != 0 || memory.Queued() != 0 {
			t.Errorf("%d bytes taken in the end, %d wait", memory.Taken(), memory.Queued())
		}
	})
}
