package redial_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// A connection with pending calls but without replies is closed between Stall and a quarter more.
// Its calls are repeated, or fail with ErrStalled.
func TestStall(t *testing.T) {
	for _, tt := range []struct {
		name            string
		offset          time.Duration // from a tick of the timer to the call
		cancelled       bool          // the previous call was cancelled without a reply
		stall, min, max time.Duration // configured, and limits of the result
	}{
		{"default", 0, false, 0, time.Minute, 75 * time.Second},
		{"at once", 0, false, 8 * time.Second, 8 * time.Second, 10 * time.Second},
		{"between ticks", 500 * time.Millisecond, false, 8 * time.Second, 8 * time.Second, 10 * time.Second},
		{"just before a tick", time.Second - time.Nanosecond, false, 8 * time.Second, 8 * time.Second, 10 * time.Second},
		{"just before a tick without a reply", time.Second - time.Nanosecond, true, 8 * time.Second, 8 * time.Second, 10 * time.Second},
		{"after a while", time.Hour, false, 8 * time.Second, 8 * time.Second, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeHost()
				c := p.connect(t, redial.Config{Wait: time.Hour, Stall: tt.stall})
				ctx, cancel := context.WithCancel(t.Context())
				first := start(ctx, c, exchange(true)) // starts the timer
				k := p.conn(t, 0).next(t)
				if tt.cancelled {
					cancel()
					returned(t, first, context.Canceled)
				} else {
					k.answer <- nil
					returned(t, first, nil)
					cancel()
				}
				time.Sleep(tt.offset)
				began := time.Now()
				again, once := start(t.Context(), c, exchange(true)), start(t.Context(), c,
					exchange(false))
				<-p.conn(t, 0).done
				if d := time.Since(began); d < tt.min || d > tt.max {
					t.Errorf("closed after %v, want %v to %v", d, tt.min, tt.max)
				}
				err := returned(t, once, redial.ErrStalled)
				if want := "redial call fake0: peer does not answer"; err.Error() != want || !errors.Is(err, net.ErrClosed) {
					t.Errorf("got %q, want %q", err, want)
				}
				p.conn(t, 1).next(t).answer <- nil
				returned(t, again, nil)
				if log := p.logged(); !strings.Contains(log, `msg="connection lost" peer=fake0 err="peer does not answer"`) {
					t.Errorf("log %s", log)
				}
			})
		})
	}
}

// Any reply shows that the peer is alive. Without pending calls, there is no stall.
func TestNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Stall: 8 * time.Second})
		f := p.conn(t, 0)
		slow := start(t.Context(), c, exchange(false))
		k := f.next(t)
		for range 100 {
			time.Sleep(7 * time.Second)
			quick := start(t.Context(), c, exchange(false))
			f.next(t).answer <- nil
			returned(t, quick, nil)
		}
		k.answer <- nil
		returned(t, slow, nil)
		time.Sleep(time.Hour)
		for range 10 { // short calls after long pauses
			done := start(t.Context(), c, exchange(false))
			k := f.next(t)
			time.Sleep(7900 * time.Millisecond)
			k.answer <- nil
			returned(t, done, nil)
			time.Sleep(time.Minute)
		}
		// The end of a call's context is not a reply, but then no call is pending.
		ctx, cancel := context.WithCancel(t.Context())
		done := start(ctx, c, exchange(false))
		time.Sleep(7 * time.Second)
		cancel()
		returned(t, done, context.Canceled)
		time.Sleep(time.Hour)
		if f.Err() != nil {
			t.Error(f.Err())
		}
	})
}

// A negative Stall means never.
func TestStallNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Stall: -1})
		done := start(t.Context(), c, exchange(false))
		time.Sleep(1000 * time.Hour)
		running(t, done)
	})
}
