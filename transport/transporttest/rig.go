package transporttest

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// rig is a listener, a dialer and the connections made between them for one subtest.
type rig struct {
	t        *testing.T
	f        Factory
	listener transport.Listener
	dialer   transport.Dialer
	addr     string

	mu   sync.Mutex // guards what follows
	ends []*end

	others   int  // goroutines of others, which were there before
	replaced bool // some of these may have been replaced
}

// newRig makes a rig. At the end of t it is closed and checked for leaked goroutines.
func newRig(t *testing.T, f Factory, o Options) *rig {
	t.Helper()
	r := &rig{t: t, f: f, others: runtime.NumGoroutine()}
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { r.noLeaks(leaks) })
	r.listener, r.dialer, r.addr = f.New(t, o)
	t.Cleanup(r.close)
	return r
}

// leakTries is how often to look for leaks, each time for about half a second. The end of an SCTP
// association may wait until a datagram is sent again.
const leakTries = 20

func (r *rig) noLeaks(known goleak.Option) {
	r.t.Helper()
	var err error
	for range leakTries {
		if r.replaced && runtime.NumGoroutine() <= r.others {
			return
		}
		if err = goleak.Find(known); err == nil {
			return
		}
	}
	r.t.Error(err)
}

func (r *rig) close() {
	r.listener.Close()
	for _, e := range r.ends {
		e.Close()
	}
	for _, e := range r.ends {
		if !e.failed {
			e.start() // before Start an end need not notice that its peer is gone
		}
		e.ended()
		e.release()
	}
}

// pair is a connection.
type pair struct {
	*rig
	a, b *end // a is the active end
}

// connect makes a connection whose ends have not been started. The dialing end is a.
func (r *rig) connect() *pair {
	r.t.Helper()
	return r.connectWith(nil, nil)
}

// preparation prepares an end, and returns the private data. Nil does nothing.
type preparation func(e *end) (private []byte, err error)

// private is a preparation that has the peer sent p.
func private(p []byte) preparation { return func(*end) ([]byte, error) { return p, nil } }

// connectWith is connect with preparations of the two ends.
func (r *rig) connectWith(dialer, listener preparation) *pair {
	r.t.Helper()
	ctx := patient(r.t)
	dial := r.dial(ctx, dialer)
	return r.accepted(ctx, r.accept(ctx), dial, listener)
}

// accepted accepts the request of a dial, and returns the connection.
func (r *rig) accepted(ctx context.Context, req transport.Request, dial <-chan dialed,
	listener preparation) *pair {
	r.t.Helper()
	b, err := r.answer(ctx, req, listener)
	if err != nil {
		r.t.Fatalf("Request.Accept: %v", err)
	}
	d := wait(r.t, "Dial", dial)
	if d.err != nil {
		r.t.Fatalf("Dial: %v", d.err)
	}
	p := &pair{rig: r, a: d.end, b: b}
	if r.f.DialerFirst {
		p.a.do(write(transport.Region{}, 0))
	}
	return p
}

// start starts both ends, and returns p.
func (p *pair) start() *pair {
	p.a.start()
	p.b.start()
	return p
}

// alive checks that messages pass in both directions.
func (p *pair) alive() {
	p.t.Helper()
	for _, e := range [][2]*end{{p.a, p.b}, {p.b, p.a}} {
		from, to := e[0], e[1]
		to.receives(1, 16)
		from.send([]byte("alive"))
		if got := string(to.next().data); got != "alive" {
			p.t.Fatalf("%s received %q, want a sign of life", to.name, got)
		}
	}
}

// endedBy waits for the end of the connection and checks that both ends know the reason, as far as
// the provider can tell. An end that does not know says that the peer has ended the connection.
func (p *pair) endedBy(want error) {
	p.t.Helper()
	if errors.Is(want, transport.ErrRemoteAccess) && !p.f.ReportsCauses {
		want = transport.ErrRemoteAccess
	}
	for _, e := range []*end{p.a, p.b} {
		e.ended()
		if !p.unaware(e, want) {
			wantError(p.t, e.name+": Err (if an end may not know, set Factory.MayNotKnow)",
				e.Err(), want)
		}
	}
}

// unaware reports whether an end says ErrClosedByPeer, and may, in place of a reason.
func (p *pair) unaware(e *end, reason error) bool {
	return p.f.MayNotKnow && reason != net.ErrClosed &&
		errors.Is(e.Err(), transport.ErrClosedByPeer)
}

// terminated checks that end told got ErrTerminated, and end teller did not.
func (p *pair) terminated(told, teller *end) {
	p.t.Helper()
	if !p.unaware(told, transport.ErrTerminated) {
		wantError(p.t, told.name+": Err", told.Err(), transport.ErrTerminated)
	}
	if err := teller.Err(); errors.Is(err, transport.ErrTerminated) {
		p.t.Errorf("%s: Err() = %v, which is not the peer's doing", teller.name, err)
	}
}

// dialed is the result of a Dial.
type dialed struct {
	end *end // the one prepared; nil: none was
	err error
}

// dial dials in the background.
func (r *rig) dial(ctx context.Context, prepare preparation) <-chan dialed {
	return r.dialTo(ctx, r.addr, prepare)
}

func (r *rig) dialTo(ctx context.Context, addr string, prepare preparation) <-chan dialed {
	c := make(chan dialed, 1)
	go func() {
		d := dialed{nil, errors.New("the test has ended the goroutine of Dial")}
		defer func() { c <- d }()
		d.end, d.err = r.made("dialing end", prepare,
			func(p transport.Preparation) (transport.Endpoint, error) {
				return r.dialer.Dial(ctx, addr, p)
			})
	}()
	return c
}

// answer accepts a request.
func (r *rig) answer(ctx context.Context, req transport.Request, prepare preparation) (
	*end, error) {
	return r.made("listening end", prepare,
		func(p transport.Preparation) (transport.Endpoint, error) { return req.Accept(ctx, p) })
}

// made makes an end by a Dial or Accept, and checks what becomes of the endpoint that it prepares.
func (r *rig) made(name string, prepare preparation,
	by func(transport.Preparation) (transport.Endpoint, error)) (e *end, err error) {
	ep, err := by(func(ep transport.Endpoint) ([]byte, error) {
		if e != nil {
			r.t.Errorf("%s: prepared twice", name)
		}
		e = r.end(name, ep)
		if prepare == nil {
			return nil, nil
		}
		return prepare(e)
	})
	switch {
	case err != nil && ep != nil:
		r.t.Errorf("%s: got an endpoint and an error: %v", name, err)
	case err != nil && e != nil:
		e.failed = true
		e.wantOver()
	case err == nil && (e == nil || ep != e.Endpoint):
		r.t.Errorf("%s: another endpoint was prepared", name)
		return r.end(name, ep), nil
	}
	return e, err
}

// wantOver checks that an endpoint that got no peer ends by itself.
func (e *end) wantOver() {
	wait(e.t, e.name+": Done without a connection", e.Done())
	if err := e.Close(); err != nil {
		e.t.Errorf("%s: Close without a connection: %v", e.name, err)
	}
	if e.Err() == nil {
		e.t.Errorf("%s: no connection was made, but Err is nil", e.name)
	}
	err := e.inbox.post(e, &transport.RecvRequest{Local: []transport.Slice{e.alloc(8)}})
	wantError(e.t, e.name+": PostRecv without a connection", err, net.ErrClosed)
	if s, ok := transport.As[transport.SharedReceiver](e.Endpoint); ok {
		err = s.PromiseRecv(1)
		wantError(e.t, e.name+": PromiseRecv without a connection", err, net.ErrClosed)
	}
	_, err = e.ledger.post(e, send(e.alloc(8)))
	wantError(e.t, e.name+": Post without a connection", err, net.ErrClosed)
	_, err = e.Expose(nil, []transport.Slice{e.alloc(8)}, rw)
	wantError(e.t, e.name+": Expose without a connection", err, net.ErrClosed)
}
