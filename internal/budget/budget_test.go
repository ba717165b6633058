package budget

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// step is a call that asks for n bytes, or one that ends. Calls are numbered from 1 as they come.
type step struct {
	conn    int
	n       int64
	end     int   // number of a call, or 0
	granted []int // calls that have their memory from then on, in this order
}

func asks(conn int, n int64, granted ...int) step { return step{conn, n, 0, granted} }
func end(id int, granted ...int) step             { return step{end: id, granted: granted} }

// TestOrder shows by examples who is granted memory, and when.
func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name        string
		size, limit int64
		hosts       []int // of the connections
		steps       []step
	}{
		// What needs all there is is granted when its host has nothing.
		{"whole", 100, 100, []int{1, 2}, []step{
			asks(0, 100, 1), asks(1, 1), asks(0, 100), end(1, 2), end(2, 3), end(3),
		}},
		// Even more is granted when nobody has any.
		{"more than the whole", 10, unlimited, []int{1, 2, 2}, []step{
			asks(0, 3, 1), asks(1, 50), end(1, 2), asks(2, 50), end(2, 3), end(3),
		}},
		// A connection at its own limit delays no other.
		{"limit of a connection", 1000, 50, []int{1, 1}, []step{
			asks(0, 30, 1), asks(0, 30), asks(0, 10), asks(1, 50, 4), end(1, 2, 3), end(2),
			end(3), end(4),
		}},
		// A host has no more than it leaves, and does not delay others while it waits.
		{"shares of hosts", 100, 100, []int{1, 1, 2, 3}, []step{
			asks(0, 40, 1), asks(1, 10, 2), asks(1, 10), // 50 are free
			asks(2, 20, 4), asks(2, 10), // 30 are free, 20 in use
			asks(3, 30, 6), // a host that has nothing gets what there is
			end(4, 5),      // not 3, which came first: its host has half
			end(6),         // its host would have 60, with 30 left
			end(2), end(1, 3), end(3), end(5),
		}},
		// What a host with nothing waits for is not overtaken by what would fit.
		{"not starved", 100, 80, []int{1, 2, 3, 4}, []step{
			asks(0, 60, 1), asks(1, 80), asks(2, 10), asks(3, 10), end(1, 2, 3, 4),
			asks(0, 10), asks(2, 1), end(3, 5), end(4, 6), end(2), end(5), end(6),
		}},
		// Of the requests of a host, the first is not overtaken either.
		{"first of a host", 100, 100, []int{1, 1, 2}, []step{
			asks(0, 40, 1), asks(0, 50), asks(1, 10), asks(2, 10, 4), end(1, 2), end(2, 3),
			end(3), end(4),
		}},
		// What waits for its own connection holds up nobody, until it only lacks the budget's.
		{"both limits", 100, 50, []int{1, 2, 3}, []step{
			asks(0, 40, 1), asks(0, 50), asks(1, 50, 3), asks(2, 10, 4), asks(2, 10),
			end(1), end(4, 2), end(3, 5), end(2), end(5),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(tt.size, tt.limit, tt.hosts...)
			var calls []*call
			for i, s := range tt.steps {
				var granted []*call
				if s.end > 0 {
					c := calls[s.end-1]
					granted = r.shares[c.conn].Release(c.n, 0)
				} else {
					c := &call{id: len(calls) + 1, conn: s.conn, n: s.n}
					calls = append(calls, c)
					if r.shares[s.conn].Reserve(&c.Request, c, s.n) {
						granted = append(granted, c)
					}
				}
				if d := diff(s.granted, ids(granted)); d != "" {
					t.Fatalf("step %d: granted (-want +got):\n%s", i, d)
				}
			}
			r.idle(t)
		})
	}
}

// The budget forgets a host when its last connection has ended and all its memory is back.
func TestForgets(t *testing.T) {
	r := newRig(100, 100)
	hosts := func(want int) {
		t.Helper()
		if len(r.hosts) != want {
			t.Errorf("%d hosts, want %d", len(r.hosts), want)
		}
	}
	one, same, other := r.join(1, 100), r.join(1, 100), r.join(2, 100)
	hosts(2)
	other.Leave()
	one.Leave()
	hosts(1)
	same.Force(30)
	same.Block(true)
	same.Leave()
	if c := new(call); !same.Reserve(&c.Request, c, 0) {
		t.Error("a connection that has left is still blocked")
	}
	hosts(1)
	again := r.join(1, 100)
	if again.host != same.host {
		t.Error("a host that comes again has nothing of what it had")
	}
	again.Leave()
	same.Release(30, 0)
	hosts(0)
	again = r.join(1, 100)
	same.Release(0, 0) // what had nothing
	hosts(1)
	again.Leave()
	hosts(0)
}

// A connection that gets more leaves as much for others as it has then, beyond what its host has.
func TestMore(t *testing.T) {
	for _, tt := range []struct {
		name             string
		free, has, other int64 // of the connection, and of another one of its host
		n, want          int
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
		{"less than nothing", -20, 0, 20, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(tt.free+tt.has+tt.other, unlimited, 1, 1)
			s := r.shares[0]
			s.Force(tt.has)
			r.shares[1].Force(tt.other)
			if got := s.More(tt.n, 10, tt.has); got != tt.want {
				t.Errorf("%d more, want %d", got, tt.want)
			}
			more := int64(tt.want) * 10
			free, has := tt.free-more, tt.has+more
			if r.Free() != free || s.has.Load() != has || s.host.has.Load() != has+tt.other {
				t.Errorf("%d free, the connection has %d and the host %d", r.Free(), s.has.Load(),
					s.host.has.Load())
			}
			if got, want := s.Short(has), free-has-tt.other < has; got != want {
				t.Errorf("short: %v, want %v", got, want)
			}
		})
	}
}

// A host that seemed to have nothing has taken memory without the lock. When that is noticed, it no
// longer holds up others.
func TestStale(t *testing.T) {
	r := newRig(100, unlimited, 1, 2, 2, 3)
	r.shares[0].Force(90)
	first, second := &call{id: 1}, &call{id: 2}
	if r.shares[1].Reserve(&first.Request, first, 20) ||
		r.shares[3].Reserve(&second.Request, second, 5) {
		t.Error("granted what a host with nothing waits for")
	}
	r.shares[2].charge(4, 4)
	if d := diff([]int{2}, ids(r.shares[0].Release(1, 0))); d != "" {
		t.Errorf("granted (-want +got):\n%s", d)
	}
}

// Connections of several hosts reserve, wait, cancel and give back concurrently. Each gets what it
// asked for, and nothing is lost.
func TestConcurrent(t *testing.T) {
	const size, conns, rounds = 100, 16, 500
	type waiter struct {
		Request[waiter]
		granted chan struct{}
	}
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	b := New[waiter](size)
	goOn := func(next []*waiter) {
		for _, w := range next {
			close(w.granted)
		}
	}
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range rounds {
				s := new(Share[waiter])
				b.Join(s, hostOf(i%5), 2*size)
				n := 1 + random.Int64N(size+20)
				w := &waiter{granted: make(chan struct{})}
				if !s.Reserve(&w.Request, w, n) {
					if random.IntN(4) == 0 {
						goOn(s.Cancel(&w.Request))
						n = 0
					} else {
						hang.Receive(t, "memory", w.granted)
					}
				}
				beyond := s.Exceed(2)
				goOn(s.Release(2, beyond))
				goOn(s.Release(int64(s.More(random.IntN(5), 1, n)), 0))
				if s.TryReserve(1) {
					goOn(s.Release(1, 0))
				}
				release := func() { goOn(s.Release(n, 0)) }
				if random.IntN(2) == 0 {
					release()
					release = func() {}
				}
				_, next := s.Leave()
				goOn(next)
				release()
			}
		})
	}
	hang.Wait(t, "all connections", &all)
	if b.Free() != size || b.Queued() != 0 || b.starved.Len() != 0 || len(b.hosts) != 0 {
		t.Errorf("%d bytes free, %d requests and %d of %d hosts wait in the end", b.Free(),
			b.Queued(), b.starved.Len(), len(b.hosts))
	}
}

// What finds memory allocates nothing.
func TestAllocations(t *testing.T) {
	r := newRig(100, 100, 1)
	s, c := r.shares[0], new(call)
	if n := testing.AllocsPerRun(100, func() {
		if !s.Reserve(&c.Request, c, 10) {
			t.Fatal("memory that is free was not to be had")
		}
		s.Release(10, 0)
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
