package redial_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

func ms(n ...int) []time.Duration {
	d := make([]time.Duration, len(n))
	for i := range n {
		d[i] = time.Duration(n[i]) * time.Millisecond
	}
	return d
}

// While the peer is unreachable, it is dialled at once, then after pauses that double, until
// Config.Wait has passed.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: 20 * time.Second})
		for range 2 { // the second outage is like the first
			f := p.last(t)
			var calls []chan error
			for range 3 {
				calls = append(calls, start(t.Context(), c, exchange(true)))
			}
			synctest.Wait()
			time.Sleep(5 * time.Second)
			p.set(errRefused, false)
			p.attempts()
			f.end(errReset)
			synctest.Wait()
			time.Sleep(10 * time.Second)
			// waits no longer than the others
			calls = append(calls, start(t.Context(), c, exchange(false)))
			for _, done := range calls {
				running(t, done)
			}
			time.Sleep(10*time.Second - time.Nanosecond)
			for _, done := range calls {
				running(t, done)
			}
			time.Sleep(time.Nanosecond)
			for _, done := range calls {
				err := returned(t, done, errRefused)
				var op *redial.OpError
				if !errors.As(err, &op) || op.Op != "redial" || op.TriedFor != 20*time.Second ||
					op.Peer != f.name {
					t.Errorf("got %#v", err)
				}
				if got, want := err.Error(), "redial "+string(f.name)+": tried for 20s: connection refused"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			want := ms(0, 100, 300, 700, 1500, 3100, 6300, 11300, 16300)
			if got := p.attempts(); !slices.Equal(got, want) {
				t.Errorf("dialled at %v, want %v", got, want)
			}

			// Nothing is dialled without calls. The next call dials.
			time.Sleep(time.Hour)
			if got := p.attempts(); len(got) > 0 {
				t.Errorf("dialled at %v without a call", got)
			}
			p.set(nil, false)
			done := start(t.Context(), c, exchange(false))
			p.last(t).next(t).answer <- nil
			returned(t, done, nil)
		}
	})
}

// Waiting calls continue when the peer comes back.
func TestComesBack(t *testing.T) {
	for _, wait := range []time.Duration{time.Minute, -1} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			c := p.connect(t, redial.Config{Wait: wait})
			time.Sleep(5 * time.Second)
			p.set(errRefused, false)
			xids := make(map[uint32]bool)
			var calls []chan error
			for range 10 {
				calls = append(calls, start(t.Context(), c, exchange(true)))
				xids[p.conn(t, 0).next(t).xid] = true
			}
			p.conn(t, 0).end(errReset)
			synctest.Wait()
			away := 30 * time.Second
			if wait < 0 {
				away = 30 * time.Hour
			}
			time.Sleep(away)
			p.set(nil, false)
			for _, done := range calls {
				running(t, done)
			}
			time.Sleep(5 * time.Second)
			for range calls {
				k := p.conn(t, 1).next(t)
				if !xids[k.xid] {
					t.Errorf("xid %08x is new", k.xid)
				}
				delete(xids, k.xid)
				k.answer <- nil
			}
			for _, done := range calls {
				returned(t, done, nil)
			}
		})
	}
}

// Without Config.Wait, pending calls fail, and the next one dials once.
func TestWaitNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{})
		for range 3 { // the connections are young
			f := p.last(t)
			done := start(t.Context(), c, exchange(true))
			f.next(t)
			f.end(errReset)
			returned(t, done, errReset)
			time.Sleep(time.Minute)
			p.set(errRefused, false)
			p.attempts()
			for range 2 {
				done = start(t.Context(), c, exchange(true))
				err := returned(t, done, errRefused)
				var op *redial.OpError
				if !errors.As(err, &op) || op.Op != "redial" || op.TriedFor != 0 ||
					op.Error() != "redial "+string(f.name)+": connection refused" {
					t.Errorf("got %v", err)
				}
			}
			if d := p.attempts(); len(d) != 2 {
				t.Errorf("dialled at %v", d)
			}
			p.set(nil, false)
			done = start(t.Context(), c, exchange(true))
			p.last(t).next(t).answer <- nil
			returned(t, done, nil)
		}
	})
}

// An attempt that hangs ends after 15 s, or when calls no longer wait.
func TestDialHangs(t *testing.T) {
	tests := []struct {
		name    string
		wait    time.Duration
		fails   time.Duration // when the call fails; 0 means not within a minute
		refused bool          // whether dialling is refused before it hangs
		want    error
		dials   []time.Duration
	}{
		{"less than an attempt", 10 * time.Second, 10 * time.Second, false, context.DeadlineExceeded, ms(0)},
		{"some attempts", 40 * time.Second, 40 * time.Second, false, context.DeadlineExceeded, ms(0, 15_100, 30_300)},
		{"what was said before", 10 * time.Second, 10 * time.Second, true, errRefused, ms(0, 100)},
		{"for ever", -1, 0, false, nil, ms(0, 15_100, 30_300, 45_700)},
		{"not", 0, 15 * time.Second, false, context.DeadlineExceeded, ms(0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeHost()
				c := p.connect(t, redial.Config{Wait: tt.wait})
				time.Sleep(5 * time.Second)
				p.conn(t, 0).end(errReset)
				synctest.Wait()
				p.set(errRefused, !tt.refused)
				p.attempts()
				done := start(t.Context(), c, exchange(true))
				running(t, done)
				p.set(errRefused, true)
				if tt.fails == 0 {
					time.Sleep(time.Minute)
					running(t, done)
				} else {
					time.Sleep(tt.fails - time.Nanosecond)
					running(t, done)
					time.Sleep(time.Nanosecond)
					returned(t, done, tt.want)
				}
				if got := p.attempts(); !slices.Equal(got, tt.dials) {
					t.Errorf("dialled at %v, want %v", got, tt.dials)
				}
			})
		})
	}
}

// Connections that end on their first call are made at the pace of failed attempts, and not for
// ever.
func TestShortLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: 3 * time.Second})
		done := start(t.Context(), c, exchange(true))
		synctest.Wait()
		p.attempts()
		pauses := ms(0, 100, 200, 400, 800, 1500) // the last one is half of Wait
		for i, pause := range pauses {
			p.conn(t, i).end(errReset)
			running(t, done)
			time.Sleep(pause)
		}
		p.conn(t, len(pauses)).end(errReset)
		err := returned(t, done, errReset)
		var op *redial.OpError
		if !errors.As(err, &op) || op.Op != "call" || op.TriedFor != 3*time.Second {
			t.Errorf("got %v", err)
		}
		if got, want := p.attempts(), ms(0, 100, 300, 700, 1500, 3000); !slices.Equal(got, want) {
			t.Errorf("dialled at %v, want %v", got, want)
		}

		// A lasting connection is replaced at once.
		done = start(t.Context(), c, exchange(true))
		time.Sleep(1500 * time.Millisecond)
		lasting := p.last(t)
		time.Sleep(time.Second)
		lasting.end(errReset)
		p.last(t).next(t)
		p.attempts()
		p.last(t).end(errReset)
		running(t, done)
		time.Sleep(100 * time.Millisecond)
		p.last(t).next(t).answer <- nil
		returned(t, done, nil)
		if got, want := p.attempts(), ms(100); !slices.Equal(got, want) {
			t.Errorf("dialled at %v, want %v", got, want)
		}
	})
}

// All connections end, and the peer ends each new one at once. The pauses double, however many
// connections there were.
func TestStillbornAfterMany(t *testing.T) {
	for _, conns := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			c := p.connect(t, redial.Config{Wait: -1, Conns: conns, Stall: -1})
			for range 2 * conns { // a call with another beside it makes for one more
				start(t.Context(), c, exchange(false))
				synctest.Wait()
			}
			time.Sleep(time.Minute)
			if len(p.conns) != conns {
				t.Fatalf("%d connections, want %d", len(p.conns), conns)
			}
			p.born, p.most = errReset, 0
			for _, lost := range p.conns {
				lost.end(errReset)
			}
			synctest.Wait()
			p.attempts()
			done := start(t.Context(), c, exchange(true))
			time.Sleep(6 * time.Second)
			running(t, done)
			if got, want := p.attempts(), ms(0, 100, 300, 700, 1500, 3100); !slices.Equal(got, want) {
				t.Errorf("%d connections: dialled at %v, want %v", conns, got, want)
			}
		})
	}
}

// A call that is never sent, because connections end too early, does not wait for ever.
func TestStillborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		p.born = errReset
		c := p.connect(t, redial.Config{Wait: 3 * time.Second})
		began := time.Now()
		x := exchange(true)
		err := c.RoundTrip(t.Context(), x)
		var op *redial.OpError
		if !errors.As(err, &op) || op.Op != "call" || !errors.Is(err, errReset) ||
			op.TriedFor < 3*time.Second || op.TriedFor != time.Since(began) {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if x.Repeated {
			t.Error("repeated, but never sent")
		}
	})
}

// A call waits for one connection after the other, but no longer than Config.Wait.
func TestWaitTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: 10 * time.Second})
		done := start(t.Context(), c, exchange(true))
		p.conn(t, 0).next(t)
		p.set(errRefused, false)
		p.conn(t, 0).end(errReset)
		time.Sleep(5 * time.Second)
		p.set(nil, false)
		time.Sleep(2 * time.Second)
		p.conn(t, 1).next(t)
		p.set(errRefused, false)
		p.conn(t, 1).end(errReset)
		time.Sleep(3*time.Second - time.Millisecond)
		running(t, done)
		time.Sleep(2 * time.Millisecond)
		var op *redial.OpError
		if err := returned(t, done, errReset); !errors.As(err, &op) || op.TriedFor != 10*time.Second {
			t.Errorf("got %v", err)
		}
	})
}
