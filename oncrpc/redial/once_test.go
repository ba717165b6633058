package redial_test

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// exchangeOnce returns a call that may be repeated where the server can tell that it is a copy.
func exchangeOnce() *oncrpc.Exchange {
	x := exchange(true)
	x.Once = true
	return x
}

// fill makes calls until there are n connections, on which calls are under way but on the last.
func fill(t *testing.T, p *fakeHost, c *redial.Conn, n int) {
	for range n - 1 {
		start(t.Context(), c, exchange(false))
		p.conn(t, 0).next(t)
	}
}

// A call with Once is repeated over a connection from the same port, whatever other calls do.
func TestOncePort(t *testing.T) {
	for _, conns := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			p.ports = true
			c := p.connect(t, redial.Config{Wait: time.Minute, Conns: conns})
			once, other := exchangeOnce(), exchange(true)
			first := start(t.Context(), c, once)
			xid := p.conn(t, 0).next(t).xid
			fill(t, p, c, conns)
			second := start(t.Context(), c, other) // over the last connection
			last := p.last(t)
			last.next(t)
			lost := p.conn(t, 0)
			lost.end(errReset)
			again := p.conn(t, conns)
			if again.from != lost.from {
				t.Errorf("%d connections: came back from %v, want %v", conns, again.from, lost.from)
			}
			k := again.next(t)
			if conns == 1 {
				other := again.next(t)
				if k.xid != xid {
					k, other = other, k
				}
				other.answer <- nil
				returned(t, second, nil)
			}
			if k.xid != xid {
				t.Errorf("%d connections: XID %08x came again as %08x", conns, xid, k.xid)
			}
			k.answer <- nil
			returned(t, first, nil)
			if !once.Repeated {
				t.Error("not marked as repeated")
			}
		})
	}
}

// If the port cannot be kept, the call with Once fails, and others are repeated.
func TestOncePortLost(t *testing.T) {
	for _, conns := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			p.ports, p.taken = true, true
			c := p.connect(t, redial.Config{Wait: time.Minute, Conns: conns})
			first := start(t.Context(), c, exchangeOnce())
			p.conn(t, 0).next(t)
			fill(t, p, c, conns)
			second := start(t.Context(), c, exchange(true))
			p.last(t).next(t)
			for i := range conns {
				p.conn(t, i).end(errReset)
			}
			err := returned(t, first, redial.ErrPortLost)
			const want = "redial call fake%d: connection lost, and none like it can be made: the call may have been executed"
			if got := err.Error(); got != fmt.Sprintf(want, len(p.conns)-1) {
				t.Errorf("got %q", got)
			}
			p.last(t).next(t).answer <- nil
			returned(t, second, nil)
		})
	}
}

// Where callers are known by their hosts, a call with Once is repeated over any connection.
func TestOnceHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute})
		done := start(t.Context(), c, exchangeOnce())
		p.conn(t, 0).next(t)
		p.conn(t, 0).end(errReset)
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
	})
}

// A call with Once is not repeated over an older connection: its first copy may still arrive over
// the newer one, and the server takes it for another call.
func TestOnceNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute, Conns: 2})
		start(t.Context(), c, exchange(false))
		p.conn(t, 0).next(t)
		fill(t, p, c, 2)
		once := start(t.Context(), c, exchangeOnce())
		xid := p.conn(t, 1).next(t).xid
		p.conn(t, 1).end(errReset)
		again := p.conn(t, 2).next(t)
		if again.xid != xid {
			t.Errorf("call %08x came over the third connection, want %08x", again.xid, xid)
		}
		again.answer <- nil
		returned(t, once, nil)
	})
}

// A call that was not sent is sent, whatever its fields say, and has not been repeated.
func TestNotSent(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			p.ports, p.taken = true, true
			c := p.connect(t, redial.Config{Wait: wait})
			calls := []*oncrpc.Exchange{exchange(false), exchange(true), exchangeOnce()}
			for _, x := range calls {
				done := start(t.Context(), c, x)
				unsent := p.last(t)
				k := unsent.next(t)
				k.answer <- fmt.Errorf("%w: %w", oncrpc.ErrNotSent, net.ErrClosed)
				synctest.Wait()
				unsent.end(errReset)
				time.Sleep(time.Second) // a connection was short
				p.last(t).next(t).answer <- nil
				returned(t, done, nil)
				if x.Repeated {
					t.Errorf("wait %v: marked as repeated", wait)
				}
			}
			// A peer that ends each connection does not make the call go on for ever.
			p.born = errReset
			done := start(t.Context(), c, exchange(false))
			unsent := p.last(t)
			k := unsent.next(t)
			k.answer <- fmt.Errorf("%w: %w", oncrpc.ErrNotSent, net.ErrClosed)
			synctest.Wait()
			unsent.end(errReset)
			time.Sleep(2 * time.Minute)
			returned(t, done, errReset)
		})
	}
}

// A call with Once was sent where callers are known by their hosts. It is not repeated where they
// are known by their ports.
func TestOnceOtherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Wait: time.Minute})
		done := start(t.Context(), c, exchangeOnce())
		p.conn(t, 0).next(t)
		p.mu.Lock()
		p.ports = true
		p.mu.Unlock()
		p.conn(t, 0).end(errReset)
		returned(t, done, redial.ErrPortLost)
		p.conn(t, 1).idle(t)
		// The connection serves other calls.
		done = start(t.Context(), c, exchange(true))
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
	})
}

// The peer ends each connection from the port that a call with Once needs, while another remains.
// Attempts to dial have pauses between them.
func TestOncePortRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		p.ports = true
		c := p.connect(t, redial.Config{Wait: time.Minute, Conns: 2, Stall: -1})
		first := start(t.Context(), c, exchangeOnce())
		p.conn(t, 0).next(t)
		fill(t, p, c, 2)
		start(t.Context(), c, exchange(true))
		p.last(t).next(t)
		p.mu.Lock()
		p.born, p.most = errReset, 100
		p.mu.Unlock()
		p.attempts()
		p.conn(t, 0).end(errReset)
		time.Sleep(2 * time.Minute)
		returned(t, first, errReset)
		if d := p.attempts(); len(d) > 20 {
			t.Errorf("%d attempts in a minute", len(d))
		}
	})
}

// A lost connection takes time to end, as others of its calls wait for replies. Its port is dialled
// from when it has ended.
func TestPortLeftLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		p.ports = true
		c := p.connect(t, redial.Config{Wait: time.Minute})
		once := start(t.Context(), c, exchangeOnce())
		lost := p.conn(t, 0)
		lost.next(t)
		lost.mu.Lock()
		lost.dying = fmt.Errorf("%w: %w", oncrpc.ErrNotSent, &net.OpError{Op: "write", Err: errReset})
		lost.mu.Unlock()
		other := start(t.Context(), c, exchange(false))
		time.Sleep(1500 * time.Millisecond)
		if d := p.attempts(); len(d) > 0 {
			t.Errorf("dialled at %v, before the port was left", d)
		}
		lost.end(errReset)
		for range 2 {
			p.last(t).next(t).answer <- nil
		}
		returned(t, once, nil)
		returned(t, other, nil)
	})
}
