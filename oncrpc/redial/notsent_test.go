package redial_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// A call was sent over a connection that ended. Over the next it did not leave. Its error does not
// say that nothing of it has left.
func TestSentBefore(t *testing.T) {
	for _, wait := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			c := p.connect(t, redial.Config{Wait: time.Minute, Stall: -1})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := start(ctx, c, exchange(true))
			p.conn(t, 0).next(t)
			p.conn(t, 0).end(errReset)
			second := p.conn(t, 1)
			second.next(t)
			second.unsent = true
			want := context.Canceled
			if wait {
				want = errReset
				time.Sleep(2 * time.Minute)
				second.end(errClosed)
			} else {
				cancel()
			}
			if err := returned(t, done, want); errors.Is(err, oncrpc.ErrNotSent) {
				t.Errorf("wait %t: got %v, but the call may have been executed", wait, err)
			}
		})
	}
}

// A connection is closed because it stalled. A call that it had not sent is sent over the next.
func TestStalledNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute, Stall: time.Minute})
		p.conn(t, 0).unsent = true
		x := exchange(false)
		done := start(t.Context(), c, x)
		time.Sleep(2 * time.Minute)
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
		if x.Repeated {
			t.Error("marked as repeated")
		}
	})
}
