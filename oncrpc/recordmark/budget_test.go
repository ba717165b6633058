package recordmark

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// budgetTest is a budget with its pending reservations.
type budgetTest struct {
	*testing.T
	*budget
}

func (t budgetTest) host(last byte) *share {
	return t.join(peerhost.Of(&net.TCPAddr{IP: net.IPv4(192, 0, 2, last)}))
}

func (t budgetTest) reserve(ctx context.Context, s *share, n int, deadline time.Time) chan error {
	done := make(chan error, 1)
	go func() { done <- s.reserve(ctx, n, deadline) }()
	synctest.Wait()
	return done
}

func (t budgetTest) is(done chan error, want error) {
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

func (t budgetTest) waits(done chan error) {
	t.Helper()
	synctest.Wait()
	if len(done) > 0 {
		t.Errorf("got %v, should wait", <-done)
	}
}

// empty checks that everything was given back and no host is remembered.
func (t budgetTest) empty(n int) {
	t.Helper()
	if t.free != n || len(t.hosts) > 0 || len(t.short) > 0 {
		t.Errorf("%d bytes free, want %d; %d hosts, %d that wait", t.free, n, len(t.hosts), len(t.short))
	}
}

// Reservations of one host are granted in the order of arrival. They end with their deadline or
// context.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budgetTest{t, newBudget(10)}
		s := b.host(1)
		ctx, cancel := context.WithCancel(context.Background())
		b.is(b.reserve(ctx, s, 7, time.Time{}), nil)
		first := b.reserve(context.Background(), s, 5, time.Now().Add(time.Minute))
		second := b.reserve(ctx, s, 4, time.Time{})
		third := b.reserve(ctx, s, 1, time.Time{})
		fourth := b.reserve(context.Background(), s, 10, time.Time{})
		b.waits(first)
		b.waits(third)
		if err := <-first; err != os.ErrDeadlineExceeded {
			t.Errorf("got %v, want os.ErrDeadlineExceeded", err)
		}
		b.waits(second)
		b.waits(third)
		cancel()
		b.is(second, context.Canceled)
		b.is(third, context.Canceled)
		b.waits(fourth)
		s.release(7)
		b.is(fourth, nil) // it may take everything, because it has nothing
		s.leave()
		s.release(10)
		b.empty(10)
	})
}

// A host that has much waits, and does not delay those that have less.
func TestBudgetOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budgetTest{t, newBudget(100)}
		ctx := context.Background()
		much, some, none := b.host(1), b.host(2), b.host(3)
		b.is(b.reserve(ctx, much, 50, time.Time{}), nil)
		more := b.reserve(ctx, much, 10, time.Time{}) // it would have 60, with 40 left
		evenMore := b.reserve(ctx, much, 1, time.Time{})
		b.waits(more)
		b.waits(evenMore)
		b.is(b.reserve(ctx, some, 20, time.Time{}), nil)
		another := b.reserve(ctx, some, 11, time.Time{})
		b.waits(another)
		b.is(b.reserve(ctx, none, 30, time.Time{}), nil)
		if none.tryReserve(1) {
			t.Error("memory for which others wait is to be had at once")
		}
		some.release(20)
		b.is(another, nil) // the host with the least comes first
		b.waits(more)
		much.release(50)
		b.is(more, nil)
		b.is(evenMore, nil)
		for s, n := range map[*share]int{much: 11, some: 11, none: 30} {
			s.release(n)
			s.leave()
		}
		b.empty(100)
	})
}
