package rpcrdma

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests are inside the package for the queue of those who wait for memory: first come, first
// served, with counts of bytes. What clients see of it is tested from outside (supply_test.go,
// supply_short_test.go).

// TestReceiveBudgetOrder has connections wait for memory: they get it in the order in which they came, be the first the one that needs most. Who leaves gives
// back what he had been given and not looked at.
func TestReceiveBudgetOrder(t *testing.T) {
	b := newReceiveBudget(100)
	var resumed []int
	waits := make([]receiveWait, 5)
	for i := range waits {
		waits[i].resume = func() { resumed = append(resumed, i) }
	}
	if got := b.reserve(&waits[0], 90); got != 90 {
		t.Fatalf("reserved %d of 90", got)
	}
	for i, n := range []int64{80, 5, 20, 30} { // 5 would fit
		if got := b.reserve(&waits[1+i], n); got != 0 {
			t.Errorf("connection %d: reserved %d behind others", 1+i, got)
		}
	}
	if got := b.more(1, 1, 0); got != 0 {
		t.Errorf("%d more while others wait, want none", got)
	}
	b.release(60)
	if len(resumed) != 0 {
		t.Errorf("%v resumed, before the first who waits can be", resumed)
	}
	b.release(30)
	if diff := cmp.Diff([]int{1, 2}, resumed); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	if got := b.reserve(&waits[1], 80); got != 80 {
		t.Errorf("reserved %d when resumed, want 80", got)
	}
	b.leave(&waits[3]) // who waits
	b.leave(&waits[2]) // who was given 5: with the 15 that are free that makes 20, and 30 are asked for
	b.leave(&waits[2])
	if got := b.reserve(&waits[4], 30); got != 0 {
		t.Errorf("reserved %d of 20", got)
	}
	b.release(80)
	if diff := cmp.Diff([]int{1, 2, 4}, resumed); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	b.leave(&waits[4])
	if free := b.free.Load(); free != 100 || b.queued.Load() != 0 || b.waiting.First() != nil {
		t.Errorf("%d free of 100, %d waiting", free, b.queued.Load())
	}
}

// TestReceiveBudgetMore checks that what a connection gets leaves as much to others as it has then.
func TestReceiveBudgetMore(t *testing.T) {
	for _, tt := range []struct {
		name           string
		free, reserved int64
		n, want        int
	}{
		{"plenty", 1000, 0, 10, 10},
		{"half", 100, 0, 10, 5},
		{"has some", 100, 40, 10, 3},
		{"has as much as is free", 50, 50, 10, 0},
		{"has more than is free", 50, 60, 10, 0},
		{"nothing free", 0, 0, 10, 0},
		{"less than nothing", -20, 0, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newReceiveBudget(1000)
			b.free.Store(tt.free)
			if got := b.more(tt.n, 10, tt.reserved); got != tt.want {
				t.Errorf("%d more, want %d", got, tt.want)
			}
			if got := b.free.Load(); got != tt.free-int64(tt.want)*10 {
				t.Errorf("%d free, %d before", got, tt.free)
			}
			if got, want := b.short(tt.reserved), b.free.Load() < tt.reserved; got != want {
				t.Errorf("short: %v, want %v", got, want)
			}
		})
	}
}

// TestReceiveBudgetWhole has one connection ask for more than there is: it gets it when nobody else has any.
func TestReceiveBudgetWhole(t *testing.T) {
	b := newReceiveBudget(10)
	resumed := false
	first, second := receiveWait{}, receiveWait{resume: func() { resumed = true }}
	if got := b.reserve(&first, 3); got != 3 {
		t.Fatalf("reserved %d of 3", got)
	}
	if got := b.reserve(&second, 50); got != 0 || resumed {
		t.Fatalf("reserved %d, resumed %v", got, resumed)
	}
	b.release(3)
	if got := b.reserve(&second, 50); got != 50 || !resumed {
		t.Errorf("reserved %d, resumed %v, want 50 and true", got, resumed)
	}
}

// TestReceiveBudgetConcurrent has connections reserve, wait and give back at the same time: each gets what it asked for, and nothing is lost.
func TestReceiveBudgetConcurrent(t *testing.T) {
	const size, conns, rounds = 100, 16, 500
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	b := newReceiveBudget(size)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			woken := make(chan struct{}, 1)
			w := receiveWait{resume: func() { woken <- struct{}{} }}
			for range rounds {
				n := 1 + r.Int64N(size+20)
				got := b.reserve(&w, n)
				if got == 0 {
					wait(t, woken)
					got = b.reserve(&w, n)
				}
				if got != n {
					t.Errorf("reserved %d, want %d", got, n)
				}
				b.release(int64(b.more(r.IntN(5), 1, got)))
				b.release(got)
			}
		})
	}
	wg.Wait()
	if free := b.free.Load(); free != size || b.queued.Load() != 0 {
		t.Errorf("%d free of %d, %d waiting", free, size, b.queued.Load())
	}
}
