package rpcrdma_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// queued starts calls that wait for a credit, in this order: their tails are 0, 1, 2 and so on.
func queued(t *testing.T, ctx func(i int) context.Context, c *rpcrdma.Conn,
	n int) (calls []*started) {
	t.Helper()
	_, _, before := c.Credits()
	for i := range n {
		calls = append(calls, start(ctx(i), c, &items{tail: uint32(i)}, nil))
		waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting == before+i+1 })
	}
	return calls
}

func background(int) context.Context { return context.Background() }

func fromTo(first, last int) (all []int) {
	for i := first; i < last; i++ {
		all = append(all, i)
	}
	return all
}

// TestOrder checks that calls that wait for a credit are sent in the order in which they were made.
// Calls that get credits from the same reply may be sent in any order.
func TestOrder(t *testing.T) {
	const n = 60
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			c, m := newGrantMeter(t, rpcrdma.Config{Dialect: d})
			first := start(context.Background(), c, &items{tail: 99}, nil)
			m.take(1)
			calls := queued(t, background, c, n)
			for sent, grants := 0, []int{1, 1, 4, 1, 2, 9, 3}; sent < n; {
				grant := grants[0]
				grants = append(grants[1:], grant)
				for len(m.open) > 0 { // each answer allows as many calls as the grant has room for
					m.answer(0, grant, 64)
					room := min(n-sent, max(0, grant-len(m.open)))
					got := m.takeTails(room)
					slices.Sort(got)
					if want := fromTo(sent, sent+room); !slices.Equal(got, want) {
						t.Fatalf("sent %v, want %v", got, want)
					}
					if sent += room; len(m.open) == grant {
						break
					}
				}
			}
			for len(m.open) > 0 {
				m.answer(0, 1, 64)
			}
			for _, s := range append(calls, first) {
				if err := wait(t, s.err); err != nil {
					t.Error(err)
				}
			}
			m.check(9)
		})
	}
}

// TestGiveUp cancels calls anywhere in the queue for a credit. Nothing is sent for them, and the
// others move up.
func TestGiveUp(t *testing.T) {
	const n = 12
	for _, tt := range []struct {
		name string
		gone []int
	}{
		{"the first", []int{0}},
		{"the last", []int{n - 1}},
		{"one in the middle", []int{5}},
		{"neighbours", []int{3, 4, 5}},
		{"neighbours, backwards", []int{5, 4, 3}},
		{"every other", []int{0, 2, 4, 6, 8, 10}},
		{"all but one", []int{0, 1, 2, 3, 11, 10, 9, 8, 7, 6, 5}},
		{"all", fromTo(0, n)},
	} {
		for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			t.Run(tt.name+" "+d.String(), func(t *testing.T) {
				c, m := newGrantMeter(t, rpcrdma.Config{Dialect: d})
				first := start(context.Background(), c, &items{tail: 99}, nil)
				m.take(1)
				var cancels [n]context.CancelFunc
				calls := queued(t, func(i int) context.Context {
					var ctx context.Context
					ctx, cancels[i] = context.WithCancel(context.Background())
					return ctx
				}, c, n)
				for i, k := range tt.gone {
					cancels[k]()
					if err := wait(t, calls[k].err); !errors.Is(err, context.Canceled) {
						t.Errorf("call %d: %v", k, err)
					}
					if _, inFlight, waiting := c.Credits(); inFlight != 1 || waiting != n-1-i {
						t.Errorf("%d under way, %d wait, want 1 and %d", inFlight, waiting, n-1-i)
					}
				}
				for k := range n {
					if slices.Contains(tt.gone, k) {
						continue
					}
					m.answer(0, 1, 64)
					if got := m.takeTails(1); got[0] != k {
						t.Fatalf("call %d was sent, want %d", got[0], k)
					}
				}
				m.answer(0, 1, 64)
				for k, s := range calls {
					if !slices.Contains(tt.gone, k) {
						if err := wait(t, s.err); err != nil {
							t.Error(err)
						}
					}
					cancels[k]()
				}
				if err := wait(t, first.err); err != nil {
					t.Error(err)
				}
				callAnswered(t, c, m.rawPeer) // the next thing sent
				if got, want := c.Stats(), uint64(n-len(tt.gone)+2); got.CallsSent != want || got.Cancelled != 0 {
					t.Errorf("%d calls sent and %d cancelled, want %d and none", got.CallsSent,
						got.Cancelled, want)
				}
			})
		}
	}
}

// TestCancelledKeepsCredit cancels calls under way: their credits are not free until their replies
// come, however late.
func TestCancelledKeepsCredit(t *testing.T) {
	const grant = 3
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			c, m := newGrantMeter(t, rpcrdma.Config{Dialect: d})
			first := start(context.Background(), c, &items{}, nil)
			m.take(1)
			m.answer(0, grant, 64)
			if err := wait(t, first.err); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var gone []*started
			for range grant {
				gone = append(gone, start(ctx, c, &items{}, nil))
			}
			m.take(grant)
			cancel()
			for _, s := range gone {
				if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			calls := queued(t, background, c, 5)
			if _, inFlight, waiting := c.Credits(); inFlight != grant || waiting != 5 {
				t.Errorf("%d under way, %d wait, want %d and 5", inFlight, waiting, grant)
			}
			for k := range 5 {
				m.answer(0, grant, 64)
				if got := m.takeTails(1); got[0] != k {
					t.Fatalf("call %d was sent, want %d", got[0], k)
				}
			}
			for len(m.open) > 0 {
				m.answer(0, grant, 64)
			}
			for _, s := range calls {
				if err := wait(t, s.err); err != nil {
					t.Error(err)
				}
			}
			m.check(grant)
			if got := c.Stats(); got.Cancelled != grant || got.LateReplies != grant || got.CallsSent != 1+grant+5 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}
