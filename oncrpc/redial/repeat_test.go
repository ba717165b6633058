package redial_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// A call that may be repeated is sent again over the next connection, unchanged. Any other call
// fails.
func TestRepeat(t *testing.T) {
	ends := map[string]error{
		"closed":            fmt.Errorf("wrapped: %w", net.ErrClosed),
		"ended otherwise":   errReset,
		"error of a socket": &net.OpError{Op: "write", Err: errReset},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeHost()
				c := p.connect(t, redial.Config{Wait: time.Minute})
				again, once := exchange(true), exchange(false)
				first, second := start(t.Context(), c, again), start(t.Context(), c, once)
				a, b := p.conn(t, 0).next(t), p.conn(t, 0).next(t)
				if a.xid == 0 || b.xid == 0 || a.xid == b.xid {
					t.Errorf("xids %08x and %08x", a.xid, b.xid)
				}
				p.conn(t, 0).end(end)
				returned(t, second, end)
				running(t, first)
				k := p.conn(t, 1).next(t)
				if k.xid != a.xid && k.xid != b.xid {
					t.Errorf("sent again with xid %08x, was %08x or %08x", k.xid, a.xid, b.xid)
				}
				p.conn(t, 1).idle(t)
				k.answer <- nil
				returned(t, first, nil)
				if !again.Repeated || once.Repeated || again.XID != 0 || once.XID != 0 {
					t.Errorf("repeated %v %v, want true, false; XID %08x %08x, want none", again.Repeated, once.Repeated, again.XID, once.XID)
				}
				if got := again.Reply.Uint32(); got != k.xid {
					t.Errorf("reply %08x, want %08x", got, k.xid)
				}
				want := fmt.Sprintf(`level=WARN msg="connection lost" peer=fake0 err=%s`+"\n"+
					`level=INFO msg="connection is back" peer=fake1 after=0s`, quoted(end))
				if got := p.logged(); got != want {
					t.Errorf("log\n%s\nwant\n%s", got, want)
				}
			})
		})
	}
}

func quoted(err error) string { return fmt.Sprintf("%q", err) }

// All calls over all connections have different transaction ids, unless callers choose them.
func TestXIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 2})
		seen := make(map[uint32]bool)
		for i := range 100 {
			start(t.Context(), c, exchange(false))
			synctest.Wait()
			var k call
			select {
			case k = <-p.conn(t, 0).calls:
			case k = <-p.last(t).calls:
			}
			if seen[k.xid] || k.xid == 0 {
				t.Errorf("call %d has xid %08x", i, k.xid)
			}
			seen[k.xid] = true
		}
		if n := p.last(t).name; n != "fake1" {
			t.Errorf("all over %s", n)
		}
		x := exchange(true)
		x.XID = 0x01020304
		done := start(t.Context(), c, x)
		k := p.conn(t, 0).next(t)
		k.answer <- nil
		returned(t, done, nil)
		if k.xid != 0x01020304 || x.XID != 0x01020304 || x.Repeated {
			t.Errorf("xid %08x, then %08x, repeated %v, want the caller's", k.xid, x.XID,
				x.Repeated)
		}
	})
}

// If a connection refuses a transaction id because an old abandoned call uses it, another is
// chosen. An id chosen by the caller is an error.
func TestXIDInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{})
		done := start(t.Context(), c, exchange(true))
		first := p.conn(t, 0).next(t)
		first.answer <- fmt.Errorf("call: %w", oncrpc.ErrXIDInUse)
		second := p.conn(t, 0).next(t)
		if second.xid == first.xid {
			t.Errorf("the same xid again")
		}
		second.answer <- nil
		returned(t, done, nil)

		x := exchange(true)
		x.XID = 7
		done = start(t.Context(), c, x)
		p.conn(t, 0).next(t).answer <- oncrpc.ErrXIDInUse
		returned(t, done, oncrpc.ErrXIDInUse)
	})
}

// Errors that do not end the connection go to the caller, and the connection stays.
func TestOtherErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute})
		refused := errors.New("peer answered RDMA_ERROR")
		for range 3 {
			x := exchange(true)
			done := start(t.Context(), c, x)
			p.conn(t, 0).next(t).answer <- refused
			if err := returned(t, done, refused); err != refused || x.Repeated || x.XID != 0 {
				t.Errorf("%v, repeated %v, xid %08x", err, x.Repeated, x.XID)
			}
		}
		if d := p.attempts(); len(d) > 0 {
			t.Errorf("dialled at %v", d)
		}
	})
}

// A connection that accepts no more calls still delivers the replies to pending ones, and is closed
// after the last.
func TestRetired(t *testing.T) {
	for _, dying := range []error{fmt.Errorf("wrapped: %w", net.ErrClosed), fmt.Errorf("wrapped: %w", &net.OpError{Op: "write", Err: errReset})} {
		testRetired(t, dying)
	}
}

func testRetired(t *testing.T, dying error) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute})
		old := start(t.Context(), c, exchange(false))
		f := p.conn(t, 0)
		k := f.next(t)
		f.mu.Lock()
		f.dying = dying
		f.mu.Unlock()
		x := exchange(true)
		done := start(t.Context(), c, x)
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
		if !x.Repeated {
			t.Error("not repeated") // a connection got it, and may have sent it
		}
		running(t, old)
		if f.Err() != nil {
			t.Fatal("closed with a call under way")
		}
		k.answer <- nil
		returned(t, old, nil)
		<-f.done
	})
}

// A call ends with its context in every state.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.RoundTrip(ctx, exchange(true)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		p.conn(t, 0).idle(t)

		ctx, cancel = context.WithCancel(t.Context())
		done := start(ctx, c, exchange(true))
		p.conn(t, 0).next(t)
		cancel()
		returned(t, done, context.Canceled)

		p.set(nil, true)
		ctx, cancel = context.WithCancel(t.Context())
		lost, late := start(ctx, c, exchange(true)), start(t.Context(), c, exchange(true))
		synctest.Wait()
		p.conn(t, 0).end(errReset)
		running(t, lost)
		cancel()
		returned(t, lost, context.Canceled)
		running(t, late)

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waiting := start(ctx, c, exchange(true))
		running(t, waiting)
		time.Sleep(time.Second)
		returned(t, waiting, context.DeadlineExceeded)
		running(t, late)
	})
}

// ends is a connection that ends with the context of a call.
type ends struct{ *fakeConn }

func (e ends) RoundTrip(ctx context.Context, _ *oncrpc.Exchange) error {
	<-ctx.Done()
	e.end(errReset)
	return errReset
}

// If both its context and its connection end, a call is not repeated.
func TestContextAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c, err := redial.New(t.Context(), func(context.Context) (oncrpc.Transport, error) {
			dials++
			return ends{newFakeConn("ends")}, nil
		}, redial.Config{Wait: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		x := exchange(true)
		done := start(ctx, c, x)
		running(t, done)
		cancel()
		returned(t, done, context.Canceled)
		if x.Repeated || dials != 1 {
			t.Errorf("repeated %v, %d connections, want 1", x.Repeated, dials)
		}
		c.Close()
		<-c.Done()
	})
}
