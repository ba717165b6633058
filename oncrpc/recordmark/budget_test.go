package recordmark

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		reserve := func(ctx context.Context, n int, deadline time.Time) chan error {
			done := make(chan error, 1)
			go func() { done <- b.reserve(ctx, n, deadline) }()
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
		waits := func(done chan error) {
			t.Helper()
			synctest.Wait()
			if len(done) > 0 {
				t.Errorf("got %v, should wait", <-done)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		is(reserve(ctx, 7, time.Time{}), nil)
		first := reserve(context.Background(), 5, time.Now().Add(time.Minute))
		second := reserve(ctx, 4, time.Time{})
		third := reserve(ctx, 1, time.Time{}) // would fit, and is not first
		fourth := reserve(context.Background(), 3, time.Time{})
		waits(first)
		waits(third)
		if err := <-first; err != os.ErrDeadlineExceeded {
			t.Errorf("got %v, want os.ErrDeadlineExceeded", err)
		}
		waits(second)
		waits(third)
		cancel()
		is(second, context.Canceled)
		is(third, context.Canceled)
		is(fourth, nil)
		b.release(7)
		b.release(3)
		if first := b.waiting.First(); b.free != 10 || first != nil {
			t.Errorf("%d bytes free, %+v waits", b.free, first)
		}
	})
}
