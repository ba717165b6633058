package redial_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// credited is a fake connection that reports the credits set by the test.
type credited struct {
	*fakeConn
	mu    sync.Mutex // guards state
	state credits
}

type credits struct{ grant, inUse, waiting int }

func (c *credited) Credits() (grant, inUse, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.grant, c.state.inUse, c.state.waiting
}

func (c *credited) set(s credits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s
}

// connectCredited returns a Conn with n connections, which have 64 credits each.
func connectCredited(t *testing.T, n int, cfg redial.Config) (*redial.Conn, []*credited) {
	t.Helper()
	var conns []*credited
	for range n + 1 {
		conns = append(conns, &credited{fakeConn: newFakeConn("credited"), state: credits{64, 0, 0}})
	}
	made := 0
	cfg.Conns, cfg.Logger = n, slog.New(slog.DiscardHandler)
	c, err := redial.New(context.Background(), func(context.Context) (oncrpc.Transport, error) {
		if made == len(conns) {
			return nil, errRefused
		}
		made++
		return conns[made-1], nil
	}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	// While each connection has a pending call, another is dialled.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := 0; made < n; i++ {
		start(ctx, c, exchange(false))
		synctest.Wait()
		if i > 10*n {
			t.Fatalf("%d connections, want %d", made, n)
		}
	}
	cancel()
	synctest.Wait()
	for _, f := range conns {
		for len(f.calls) > 0 {
			<-f.calls
		}
	}
	return c, conns
}

// A call goes to the connection with the fewest credits in use, and to a starved one last.
func TestCreditsInUse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		conns []credits
		want  int
	}{
		{"all idle", []credits{{64, 0, 0}, {64, 0, 0}, {64, 0, 0}}, 0},
		{"fewest", []credits{{64, 7, 0}, {64, 5, 0}, {64, 6, 0}}, 1},
		{"fewest, but starved", []credits{{64, 7, 0}, {5, 5, 0}, {64, 6, 0}}, 2},
		{"one left", []credits{{64, 63, 0}, {5, 5, 0}, {64, 64, 0}}, 0},
		{"new", []credits{{64, 1, 0}, {64, 2, 0}, {1, 0, 0}}, 2},
		{"new, with a call", []credits{{64, 60, 0}, {64, 61, 0}, {1, 1, 0}}, 0},
		{"all starved", []credits{{64, 64, 9}, {32, 32, 8}, {4, 4, 10}}, 1},
		{"starved by a lower grant", []credits{{64, 64, 9}, {2, 20, 0}, {4, 4, 10}}, 0},
		{"granted nothing, and so one", []credits{{64, 1, 0}, {0, 0, 0}, {64, 2, 0}}, 1},
		{"given nothing, with a call", []credits{{64, 1, 0}, {0, 1, 0}, {64, 2, 0}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, conns := connectCredited(t, 3, redial.Config{})
				for i, s := range tt.conns {
					conns[i].set(s)
				}
				done := start(t.Context(), c, exchange(false))
				conns[tt.want].next(t).answer <- nil
				returned(t, done, nil)
			})
		})
	}
}

// A call counts even before its connection counts it.
func TestCreditsNotYetInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conns := connectCredited(t, 2, redial.Config{})
		conns[0].set(credits{2, 0, 0})
		conns[1].set(credits{64, 5, 0})
		for range 2 + 3 {
			start(t.Context(), c, exchange(false))
			synctest.Wait()
		}
		if a, b := len(conns[0].calls), len(conns[1].calls); a != 2 || b != 3 {
			t.Errorf("%d and %d calls, want 2, which are all that may be under way, and 3", a, b)
		}
	})
}

// Credits in use, even those of abandoned calls, cause another connection to be dialled.
func TestCreditsDial(t *testing.T) {
	for _, inUse := range []int{0, 1, 64} {
		synctest.Test(t, func(t *testing.T) {
			first := &credited{fakeConn: newFakeConn("first"), state: credits{64, inUse, 0}}
			second := newFakeConn("second")
			dials := 0
			c, err := redial.New(t.Context(), func(context.Context) (oncrpc.Transport, error) {
				if dials++; dials == 1 {
					return first, nil
				}
				return second, nil
			}, redial.Config{Conns: 2})
			if err != nil {
				t.Fatal(err)
			}
			done := start(t.Context(), c, exchange(false))
			first.next(t).answer <- nil
			returned(t, done, nil)
			if want := 1 + min(1, inUse); dials != want {
				t.Errorf("%d connections with %d credits in use, want %d", dials, inUse, want)
			}
			c.Close()
			<-c.Done()
		})
	}
}

// A connection starved by abandoned calls, without a sign of life, is closed between Stall and a
// quarter more. It is replaced when necessary.
func TestStarvedStall(t *testing.T) {
	const stall = 8 * time.Second
	for _, tt := range []struct {
		name   string
		giveUp bool
		during time.Duration // how long it is starved
		ends   bool
	}{
		{"for ever", true, time.Hour, true},
		{"until a credit comes back", true, 7900 * time.Millisecond, false},
		{"by other than calls", false, time.Hour, false}, // such as RDMA_DONEs
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, conns := connectCredited(t, 2, redial.Config{Stall: stall})
				time.Sleep(time.Hour) // the ticks of the first calls are over
				ctx, cancel := context.WithCancel(t.Context())
				conns[1].set(credits{64, 64, 0})
				if !tt.giveUp {
					// Calls were abandoned on the second connection when the connections were made,
					// but not on the third.
					conns[1].end(errReset)
					synctest.Wait()
					conns[0].set(credits{64, 10, 0})
					done := start(ctx, c, exchange(false))
					conns[0].next(t).answer <- nil
					returned(t, done, nil)
					conns[0], conns[1] = conns[2], conns[0]
				}
				began := time.Now()
				done := start(ctx, c, exchange(false))
				k := conns[0].next(t)
				conns[0].set(credits{1, 1, 0})
				if tt.giveUp {
					cancel()
					returned(t, done, context.Canceled)
				} else {
					k.answer <- nil
					returned(t, done, nil)
					cancel()
				}
				conns[1].set(credits{64, 2, 0})
				if tt.ends {
					<-conns[0].done
					if d := time.Since(began); d < stall || d > stall*5/4 {
						t.Errorf("closed after %v, want %v to a quarter more", d, stall)
					}
					// The next call replaces it.
					synctest.Wait()
					done := start(t.Context(), c, exchange(false))
					conns[1].next(t).answer <- nil
					returned(t, done, nil)
					done = start(t.Context(), c, exchange(false))
					conns[2].next(t).answer <- nil
					returned(t, done, nil)
					return
				}
				time.Sleep(tt.during)
				conns[0].set(credits{64, 0, 0})
				again := start(t.Context(), c, exchange(false))
				k = conns[0].next(t)
				time.Sleep(stall - time.Nanosecond)
				if err := conns[0].Err(); err != nil {
					t.Fatalf("a connection that has credits has ended: %v", err)
				}
				k.answer <- nil
				returned(t, again, nil)
				time.Sleep(time.Hour)
				if err := conns[0].Err(); err != nil {
					t.Errorf("an idle connection has ended: %v", err)
				}
			})
		})
	}
}

// Credits returns sums, and calls that wait for a connection count as waiting.
func TestCreditsSum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conns := connectCredited(t, 2, redial.Config{Wait: time.Hour})
		want := func(grant, inUse, waiting int) {
			t.Helper()
			synctest.Wait()
			if g, u, w := c.Credits(); g != grant || u != inUse || w != waiting {
				t.Errorf("Credits() = %d, %d, %d, want %d, %d, %d", g, u, w, grant, inUse, waiting)
			}
		}
		conns[0].set(credits{64, 60, 0})
		conns[1].set(credits{7, 7, 3})
		want(71, 67, 3)
		conns[0].end(errReset)
		want(7, 7, 3)
		conns[1].end(errReset)
		conns[2].end(errReset)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var calls []chan error
		for range 3 {
			calls = append(calls, start(ctx, c, exchange(false)))
		}
		want(0, 0, 3)
		cancel()
		for _, done := range calls {
			returned(t, done, context.Canceled)
		}
		want(0, 0, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		c := newFakeHost().connect(t, redial.Config{})
		for i := range 3 {
			if g, u, w := c.Credits(); g != i+1 || u != i || w != 0 {
				t.Errorf("Credits() = %d, %d, %d with %d calls, want one more", g, u, w, i)
			}
			start(t.Context(), c, exchange(false))
			synctest.Wait()
		}
	})
}

// connects checks that a call uses the i-th connection.
func connects(t *testing.T, c *redial.Conn, p *fakeHost, i int) {
	t.Helper()
	if conn, err := c.Connect(t.Context()); err != nil || conn != oncrpc.Transport(p.conn(t, i)) {
		t.Errorf("connected to %v, %v", conn, err)
	}
}

// Connected is called once for each connection in use. It may call over the Conn, even before New
// has returned it.
func TestConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		var first *redial.Conn
		made := make(chan oncrpc.Transport, 10)
		called := make(chan error, 10)
		c := p.connect(t, redial.Config{Connected: func(c *redial.Conn, conn oncrpc.Transport) {
			if first == nil {
				first = c
			} else if c != first {
				t.Error("told of another Conn")
			}
			made <- conn
			called <- c.RoundTrip(context.Background(), exchange(true))
		}})
		for i := range 3 {
			f := p.conn(t, i)
			if got := <-made; got != oncrpc.Transport(f) {
				t.Errorf("connection %d: told of %v", i, got.RemoteAddr())
			}
			f.next(t).answer <- nil
			if err := <-called; err != nil {
				t.Error(err)
			}
			f.end(errReset)
			synctest.Wait()
			if i < 2 {
				connects(t, c, p, i+1)
			}
		}
		if len(made) > 0 {
			t.Errorf("told of %d more", len(made))
		}
		if c != first {
			t.Error("told of a Conn that New has not returned")
		}
	})
}

// Close ends the calls of Connected, and Done waits for it.
func TestConnectedClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		proceed, called := make(chan struct{}), make(chan error, 1)
		c := p.connect(t, redial.Config{Connected: func(c *redial.Conn, _ oncrpc.Transport) {
			called <- c.RoundTrip(context.Background(), exchange(true))
			<-proceed
		}})
		p.conn(t, 0).next(t)
		c.Close()
		returned(t, called, errClosed)
		synctest.Wait()
		select {
		case <-c.Done():
			t.Error("done before Connected has returned")
		default:
		}
		close(proceed)
		<-c.Done()
	})
}

// Connect returns the current connection, or waits for one as a call does.
func TestConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute})
		for range 3 {
			connects(t, c, p, 0)
		}
		if d := p.attempts(); len(d) > 0 {
			t.Errorf("dialled at %v", d)
		}
		time.Sleep(time.Minute)
		p.set(errRefused, false)
		p.conn(t, 0).end(errReset)
		synctest.Wait()
		p.attempts()
		var op *redial.OpError
		_, err := c.Connect(t.Context())
		if !errors.Is(err, errRefused) || !errors.As(err, &op) || op.TriedFor != time.Minute {
			t.Errorf("nobody listens: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of its context: %v", err)
		}
		p.set(nil, false)
		connects(t, c, p, 1)
		c.Close()
		if _, err := c.Connect(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}
