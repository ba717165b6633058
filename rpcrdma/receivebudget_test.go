package rpcrdma

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// These tests are inside the package for the queue of those who wait for memory, with counts of
// bytes. What clients see of it is tested from outside (supply_test.go, supply_short_test.go,
// shares_test.go).

// receiveBudgetRig is a receiveBudget, and a connection of each of some hosts.
type receiveBudgetRig struct {
	*receiveBudget
	shares  []receiveShare
	resumed []int // connections in the order resumed since the last want
}

func newReceiveBudgetRig(size int64, hosts ...string) *receiveBudgetRig {
	r := &receiveBudgetRig{newReceiveBudget(size), make([]receiveShare, len(hosts)), nil}
	for i, host := range hosts {
		s := &r.shares[i]
		s.resume = func() { r.resumed = append(r.resumed, i) }
		r.join(s, peerhost.Of(loopback.Addr(host)))
	}
	return r
}

// reserves has a connection ask for n bytes, which it gets at once or not.
func (r *receiveBudgetRig) reserves(t *testing.T, conn int, n int64, ok bool) {
	t.Helper()
	want := n
	if !ok {
		want = 0
	}
	if got := r.reserve(&r.shares[conn], n); got != want {
		t.Errorf("connection %d: reserved %d of %d, want %d", conn, got, n, want)
	}
}

func (r *receiveBudgetRig) gives(conn int, n int64) { r.release(&r.shares[conn], n) }

// want checks which connections were resumed.
func (r *receiveBudgetRig) want(t *testing.T, conns ...int) {
	t.Helper()
	if diff := cmp.Diff(conns, r.resumed, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	r.resumed = nil
}

// idle checks that no connection has memory or waits, and that no host is remembered once all
// connections have ended.
func (r *receiveBudgetRig) idle(t *testing.T) {
	t.Helper()
	if free := r.free.Load(); free != r.size || r.queued.Load() != 0 || r.poor.Load() != 0 {
		t.Errorf("%d free of %d, %d waiting, %d hosts with nothing", free, r.size, r.queued.Load(),
			r.poor.Load())
	}
	for i := range r.shares {
		r.leave(&r.shares[i])
	}
	if len(r.hosts) != 0 {
		t.Errorf("%d hosts are known without a connection", len(r.hosts))
	}
}

// TestReceiveBudgetOrder: hosts without memory get some in order of arrival, even if the first
// needs the most. A connection that ends gives back memory that it was given and has not noticed.
func TestReceiveBudgetOrder(t *testing.T) {
	r := newReceiveBudgetRig(100, "a", "b", "c", "d", "e")
	r.reserves(t, 0, 90, true)
	for i, n := range []int64{80, 5, 20, 30} { // 5 would fit
		r.reserves(t, 1+i, n, false)
	}
	if got := r.more(&r.shares[0], 1, 1, 40); got != 0 {
		t.Errorf("%d more while others wait, want none", got)
	}
	r.gives(0, 60)
	r.want(t) // the first waiter does not fit yet
	r.gives(0, 30)
	r.want(t, 1, 2)
	r.reserves(t, 1, 80, true)
	r.cancel(&r.shares[3]) // it waits
	r.cancel(&r.shares[2]) // it was given 5: 20 are free, 30 are wanted
	r.cancel(&r.shares[2])
	r.reserves(t, 4, 30, false)
	r.gives(1, 80)
	r.want(t, 4)
	r.cancel(&r.shares[4])
	r.idle(t)
}

// TestReceiveBudgetShares: one host takes all that it can, over many connections. Another host
// still finds some, and is not held up by waiting connections of the first.
func TestReceiveBudgetShares(t *testing.T) {
	r := newReceiveBudgetRig(100, "greedy", "greedy", "greedy", "good", "good", "new")
	r.reserves(t, 0, 40, true)
	r.reserves(t, 1, 10, true)
	r.reserves(t, 2, 10, false) // its host has half
	if got := r.more(&r.shares[0], 1, 1, 40); got != 0 {
		t.Errorf("%d more for a host that waits, want none", got)
	}
	if !r.short(&r.shares[0], 1) || !r.scarce(&r.shares[0]) {
		t.Error("memory is not short for a host that waits")
	}
	if r.short(&r.shares[3], 0) || r.scarce(&r.shares[3]) {
		t.Error("memory is short for a host, as another one waits")
	}
	r.reserves(t, 3, 15, true)
	r.reserves(t, 4, 10, true) // its host has as much as is left: 25
	if got := r.more(&r.shares[3], 1, 1, 15); got != 0 {
		t.Errorf("%d more for a host that has its share, want none", got)
	}
	r.reserves(t, 5, 30, false) // its host has nothing, so all wait for it
	r.gives(1, 10)
	r.want(t, 5) // not 2, which has waited longer
	r.reserves(t, 5, 30, true)
	r.gives(3, 15)
	r.want(t) // 20 are free, the first host has 40
	r.gives(0, 40)
	r.want(t, 2)
	r.reserves(t, 2, 10, true)
	r.gives(2, 10)
	r.gives(4, 10)
	r.gives(5, 30)
	r.idle(t)
}

// TestReceiveBudgetForced: a host that waits and has nothing gets memory in another way. It then no
// longer holds up others.
func TestReceiveBudgetForced(t *testing.T) {
	r := newReceiveBudgetRig(100, "a", "b", "b", "c")
	r.reserves(t, 0, 90, true)
	r.reserves(t, 1, 20, false)
	r.reserves(t, 3, 5, false)
	r.force(&r.shares[2], 4)
	r.gives(0, 1) // now it is noticed
	r.want(t, 3)
	r.reserves(t, 3, 5, true)
	r.gives(2, 4)
	r.gives(0, 89)
	r.want(t, 1)
	r.reserves(t, 1, 20, true)
	r.gives(1, 20)
	r.gives(3, 5)
	r.idle(t)
}

// TestReceiveBudgetForgets: a connection ends that still has memory. The budget keeps its host
// until the memory is back.
func TestReceiveBudgetForgets(t *testing.T) {
	r := newReceiveBudgetRig(100, "a")
	r.reserves(t, 0, 30, true)
	r.leave(&r.shares[0])
	var again receiveShare
	r.join(&again, r.shares[0].host.host)
	if again.host != r.shares[0].host {
		t.Error("a host that comes again has nothing of what it had")
	}
	r.leave(&again)
	if len(r.hosts) != 1 {
		t.Errorf("%d hosts, want the one that still has memory", len(r.hosts))
	}
	r.gives(0, 30)
	if len(r.hosts) != 0 {
		t.Errorf("%d hosts without a connection and memory", len(r.hosts))
	}
}

// TestReceiveBudgetMore checks that a connection leaves as much for others as it has, beyond what
// its host has.
func TestReceiveBudgetMore(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		free, reserved, other int64 // by the connection, and by another one of its host
		n, want               int
	}{
		{"plenty", 1000, 0, 0, 10, 10},
		{"a third", 100, 0, 0, 10, 3},
		{"has some", 200, 20, 0, 10, 5},
		{"its host has some", 200, 0, 40, 10, 5},
		{"both have some", 200, 20, 20, 10, 4},
		{"has a third", 100, 50, 0, 10, 0},
		{"its host has as much as is free", 50, 0, 50, 10, 0},
		{"its host has more than is free", 50, 0, 60, 10, 0},
		{"nothing free", 0, 0, 0, 10, 0},
		{"less than nothing", -20, 0, 0, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReceiveBudgetRig(1000, "a", "a")
			r.free.Store(tt.free + tt.reserved + tt.other)
			r.force(&r.shares[0], tt.reserved)
			r.force(&r.shares[1], tt.other)
			s := &r.shares[0]
			if got := r.more(s, tt.n, 10, tt.reserved); got != tt.want {
				t.Errorf("%d more, want %d", got, tt.want)
			}
			more := int64(tt.want) * 10
			free, has := tt.free-more, tt.reserved+tt.other+more
			if gotFree, gotHas := r.free.Load(), s.host.reserved.Load(); gotFree != free ||
				gotHas != has {
				t.Errorf("%d free, %d reserved, want %d and %d", gotFree, gotHas, free, has)
			}
			reserved := tt.reserved + more
			if got, want := r.short(s, reserved), free-has < reserved; got != want {
				t.Errorf("short: %v, want %v", got, want)
			}
		})
	}
}

// TestReceiveBudgetWhole: a connection that asks for more than the whole budget gets it when no
// other has any.
func TestReceiveBudgetWhole(t *testing.T) {
	for _, hosts := range [][]string{{"a", "b"}, {"a", "a"}} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			r := newReceiveBudgetRig(10, hosts...)
			r.reserves(t, 0, 3, true)
			r.reserves(t, 1, 50, false)
			r.want(t)
			r.gives(0, 3)
			r.want(t, 1)
			r.reserves(t, 1, 50, true)
			r.gives(1, 50)
			r.idle(t)
		})
	}
}

// TestReceiveBudgetConcurrent: connections of several hosts reserve, wait and give back
// concurrently. Each gets what it asked for, and nothing is lost.
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
			for range rounds {
				s := receiveShare{resume: func() { woken <- struct{}{} }}
				b.join(&s, peerhost.Of(loopback.Addr(fmt.Sprint(i%5))))
				n := 1 + r.Int64N(size+20)
				got := b.reserve(&s, n)
				if got == 0 {
					wait(t, woken)
					got = b.reserve(&s, n)
				}
				if got != n {
					t.Errorf("reserved %d, want %d", got, n)
				}
				b.release(&s, int64(b.more(&s, r.IntN(5), 1, got)))
				if r.IntN(2) == 0 {
					b.release(&s, got)
					b.leave(&s)
				} else {
					b.leave(&s)
					b.release(&s, got)
				}
			}
		})
	}
	wg.Wait()
	(&receiveBudgetRig{receiveBudget: b}).idle(t)
}

// BenchmarkReceiveBudget makes a connection busy and idle again, while no other waits, and while
// another host is at its share and many of its connections wait.
func BenchmarkReceiveBudget(b *testing.B) {
	for _, waiting := range []int{0, 30_000} {
		b.Run(fmt.Sprintf("%d waiting", waiting), func(b *testing.B) {
			budget := newReceiveBudget(100)
			join := func(host string) *receiveShare {
				s := new(receiveShare)
				budget.join(s, peerhost.Of(loopback.Addr(host)))
				return s
			}
			budget.reserve(join("greedy"), 50)
			for range waiting {
				budget.reserve(join("greedy"), 10)
			}
			s := join("good")
			for b.Loop() {
				if budget.reserve(s, 10) != 10 {
					b.Fatal("memory that is free was not to be had")
				}
				budget.release(s, 10)
			}
		})
	}
}
