package redial_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// While all connections have pending calls, additional ones are dialled one at a time. Calls go to
// the connection with the fewest.
func TestConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 3})
		call := func() chan error { return start(t.Context(), c, exchange(true)) }
		for range 5 { // calls one after the other need only one
			done := call()
			p.conn(t, 0).next(t).answer <- nil
			returned(t, done, nil)
		}
		if n := len(p.conns); n != 1 {
			t.Errorf("%d connections for one call at a time", n)
		}
		var under []chan error
		for i := range 30 {
			done := call()
			synctest.Wait()
			under = append(under, done)
			// The fourth call is the first to find calls on two.
			if n, want := len(p.conns), []int{1, 2, 2, 3}[min(i, 3)]; n != want {
				t.Errorf("%d connections with %d calls, want %d", n, i+1, want)
			}
		}
		for i := range 3 {
			if n := len(p.conn(t, i).calls); n < 9 || n > 11 {
				t.Errorf("connection %d has %d of 30 calls", i, n)
			}
		}
		for i := range 3 {
			for len(p.conn(t, i).calls) > 0 {
				p.conn(t, i).next(t).answer <- nil
			}
		}
		for _, done := range under {
			returned(t, done, nil)
		}
	})
}

// When one of several connections ends, its calls go to the others at once.
func TestOneOfConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 2, Wait: time.Minute})
		one := start(t.Context(), c, exchange(true))
		a := p.conn(t, 0).next(t)
		two := start(t.Context(), c, exchange(true)) // makes redial dial the second
		p.conn(t, 0).next(t).answer <- nil
		returned(t, two, nil)
		three := start(t.Context(), c, exchange(true))
		p.conn(t, 1).next(t)
		p.set(nil, true)
		p.logged()
		p.conn(t, 0).end(errReset)
		if k := p.conn(t, 1).next(t); k.xid != a.xid {
			t.Errorf("xid %08x, want %08x", k.xid, a.xid)
		} else {
			k.answer <- nil
		}
		returned(t, one, nil)
		running(t, three)
		if log := p.logged(); log != "" {
			t.Errorf("log %s", log)
		}
	})
}

// Dialling an additional connection is tried again 5 s after a failure, if it is still needed. An
// attempt that hangs delays no call, even if the other connections end meanwhile.
func TestFurtherConnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 2, Wait: time.Minute})
		p.set(errRefused, false)
		var calls []chan error
		for range 100 {
			calls = append(calls, start(t.Context(), c, exchange(true)))
			synctest.Wait()
		}
		if d := p.attempts(); len(d) != 1 {
			t.Errorf("dialled at %v, want once", d)
		}
		time.Sleep(5*time.Second - time.Nanosecond)
		calls = append(calls, start(t.Context(), c, exchange(true)))
		synctest.Wait()
		if d := p.attempts(); len(d) != 0 {
			t.Errorf("dialled again too soon")
		}
		time.Sleep(time.Nanosecond)
		p.set(nil, true)
		calls = append(calls, start(t.Context(), c, exchange(true)))
		synctest.Wait()
		if d := p.attempts(); len(d) != 1 {
			t.Errorf("dialled at %v, want once", d)
		}
		p.set(nil, false)
		p.conn(t, 0).end(errReset)
		for range calls {
			synctest.Wait()
			select {
			case k := <-p.conn(t, 1).calls:
				k.answer <- nil
			case k := <-p.last(t).calls: // dialled because the first one had pending calls
				k.answer <- nil
			}
		}
		for _, done := range calls {
			returned(t, done, nil)
		}
		if d := p.attempts(); len(d) == 0 || slices.Max(d) != 0 {
			t.Errorf("dialled at %v, want at once", d)
		}
	})
}

// An additional connection that the peer closes at once is replaced only after 5 s.
func TestFurtherConnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 2, Wait: time.Minute})
		p.mu.Lock()
		p.born = errReset
		p.mu.Unlock()
		var calls []chan error
		for range 100 {
			calls = append(calls, start(t.Context(), c, exchange(true)))
			synctest.Wait()
		}
		if d := p.attempts(); len(d) != 1 {
			t.Errorf("dialled %d times, want once", len(d))
		}
		time.Sleep(5 * time.Second)
		calls = append(calls, start(t.Context(), c, exchange(true)))
		synctest.Wait()
		if d := p.attempts(); len(d) != 1 {
			t.Errorf("dialled %d times 5 s later, want once", len(d))
		}
		for range calls {
			p.conn(t, 0).next(t).answer <- nil
		}
		for _, done := range calls {
			returned(t, done, nil)
		}
	})
}

// All current and future connections are served.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{})
		a, b := oncrpc.NewServer(oncrpc.ServerConfig{}), oncrpc.NewServer(oncrpc.ServerConfig{})
		c.Serve(a)
		c.Serve(b)
		if c.LocalAddr() != addr("local of fake0") || c.RemoteAddr() != addr("fake0") {
			t.Errorf("addresses %v, %v", c.LocalAddr(), c.RemoteAddr())
		}
		p.conn(t, 0).end(errReset)
		done := start(t.Context(), c, exchange(false))
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
		if c.LocalAddr() != addr("local of fake1") || c.RemoteAddr() != addr("fake1") {
			t.Errorf("addresses %v, %v", c.LocalAddr(), c.RemoteAddr())
		}
		if s := p.conn(t, 0).servers; len(s) != 2 || s[0] != a || s[1] != b {
			t.Errorf("the first connection has %d servers", len(s))
		}
		if s := p.conn(t, 1).servers; len(s) != 1 || s[0] != b {
			t.Errorf("the second connection has %d servers", len(s))
		}
	})
}

// The end of an idle connection is not logged as a warning. The next call replaces it.
func TestIdleEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{})
		p.conn(t, 0).end(errReset)
		synctest.Wait()
		time.Sleep(time.Hour)
		if d := p.attempts(); len(d) > 0 {
			t.Errorf("dialled at %v", d)
		}
		x := exchange(false)
		done := start(t.Context(), c, x)
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
		want := `level=INFO msg="connection ended" peer=fake0 err="connection reset"` + "\n" +
			`level=INFO msg="connection is back" peer=fake1 after=1h0m0s`
		if got := p.logged(); got != want || x.Repeated {
			t.Errorf("repeated %v, log\n%s\nwant\n%s", x.Repeated, got, want)
		}
	})
}
