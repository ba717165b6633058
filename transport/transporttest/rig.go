package transporttest

import (
	"context"
	"errors"
	"runtime"
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
	ends     []*end

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
		e.start() // before Start an end need not notice that its peer is gone
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

// connectWith is connect with private data from the two ends.
func (r *rig) connectWith(dialer, listener []byte) *pair {
	r.t.Helper()
	ctx := patient(r.t)
	dial := r.dial(ctx, dialer)
	req, err := r.listener.Accept(ctx)
	if err != nil {
		r.t.Fatalf("Listener.Accept: %v", err)
	}
	b, err := req.Accept(ctx, listener)
	if err != nil {
		r.t.Fatalf("Request.Accept: %v", err)
	}
	d := wait(r.t, "Dial", dial)
	if d.err != nil {
		b.Close()
		r.t.Fatalf("Dial: %v", d.err)
	}
	p := &pair{rig: r, a: r.end("dialing end", d.ep), b: r.end("listening end", b)}
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
// the provider can tell.
func (p *pair) endedBy(want error) {
	p.t.Helper()
	if errors.Is(want, transport.ErrRemoteAccess) && !p.f.ReportsCauses {
		want = transport.ErrRemoteAccess
	}
	for _, e := range []*end{p.a, p.b} {
		e.ended()
		wantError(p.t, e.name+": Err", e.Err(), want)
	}
}

// terminated checks that end told got ErrTerminated, and end teller did not.
func (p *pair) terminated(told, teller *end) {
	p.t.Helper()
	wantError(p.t, told.name+": Err", told.Err(), transport.ErrTerminated)
	if err := teller.Err(); errors.Is(err, transport.ErrTerminated) {
		p.t.Errorf("%s: Err() = %v, which is not the peer's doing", teller.name, err)
	}
}

// dialed is the result of a Dial.
type dialed struct {
	ep  transport.Endpoint
	err error
}

// dial dials in the background.
func (r *rig) dial(ctx context.Context, private []byte) <-chan dialed {
	c := make(chan dialed, 1)
	go func() {
		ep, err := r.dialer.Dial(ctx, r.addr, private)
		c <- dialed{ep, err}
	}()
	return c
}
