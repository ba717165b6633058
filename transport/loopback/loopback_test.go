package loopback

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

func TestConformance(t *testing.T) {
	conformance(t, asIs[transport.Listener], asIs[transport.Dialer])
}

func asIs[T any](v T) T { return v }

// TestConformanceLimited runs the suite with limits like those of hardware, and with smaller ones.
func TestConformanceLimited(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits transporttest.Limits
	}{
		{"smallest", transporttest.Limits{
			MaxSendSGE: 1, MaxRecvSGE: 1, MaxReadSGE: 1,
			MaxMessage: 4096, MaxRegion: 4096, MaxRegions: 32, NoHold: true,
		}},
		{"a region for each slice", transporttest.Limits{MaxRegions: 512}},
		{"lists alone", transporttest.Limits{MaxSendSGE: 4, MaxRecvSGE: 3, MaxReadSGE: 1}},
		{"messages longer than regions", transporttest.Limits{MaxMessage: 60000, MaxRegion: 5000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limit := func(ep transport.Endpoint) transport.Endpoint {
				return transporttest.Limit(ep.(transporttest.FullEndpoint), tt.limits)
			}
			conformance(t, func(l transport.Listener) transport.Listener {
				return transport.WrapListener(l, limit)
			}, func(d transport.Dialer) transport.Dialer {
				return transport.WrapDialer(d, limit)
			})
		})
	}
}

// TestConformancePolled runs the suite while goroutines poll at the dialing end, in addition to the
// pump.
func TestConformancePolled(t *testing.T) {
	conformance(t, asIs[transport.Listener], func(d transport.Dialer) transport.Dialer {
		return transport.WrapDialer(d, func(ep transport.Endpoint) transport.Endpoint {
			return polled{ep.(*endpoint)}
		})
	})
}

// TestConformanceDevice runs the suite with everything that an adapter lacks.
func TestConformanceDevice(t *testing.T) {
	f := factory(transporttest.Device)
	f.MayNotKnow, f.ServesUnstarted, f.NoSolicited = true, true, true
	transporttest.Run(t, f)
}

func conformance(t *testing.T, listener func(transport.Listener) transport.Listener,
	dialer func(transport.Dialer) transport.Dialer) {
	transporttest.Run(t, factory(func(l transport.Listener, d transport.Dialer) (
		transport.Listener, transport.Dialer) {
		return listener(l), dialer(d)
	}))
}

// factory describes the provider, changed by with.
func factory(with func(transport.Listener, transport.Dialer) (
	transport.Listener, transport.Dialer)) transporttest.Factory {
	return transporttest.Factory{
		New: func(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
			f := New()
			tb.Cleanup(func() {
				if n, bytes := f.Domain().Allocated(); n != 0 || bytes != 0 {
					tb.Errorf("%d slices with %d bytes have not been freed", n, bytes)
				}
			})
			cfg := Config(o)
			l, err := f.Listen("server", cfg)
			if err != nil {
				tb.Fatal(err)
			}
			changedL, changedD := with(l, f.Dialer(cfg))
			return changedL, changedD, "server"
		},
		UnusedAddr:    "nobody",
		ReportsCauses: true,
	}
}

// polled has another goroutine poll after each Post, as the suite posts with locks held.
type polled struct{ *endpoint }

func (p polled) Post(wrs ...*transport.WorkRequest) error {
	err := p.PostPolled(wrs...)
	go p.Poll()
	return err
}

// dialed returns both ends of a new connection, which ends with the test.
func dialed(tb testing.TB, cfg Config) (dialing, listening transport.Endpoint) {
	tb.Helper()
	f := New()
	l, err := f.Listen("", cfg)
	if err != nil {
		tb.Fatal(err)
	}
	accepted := make(chan transport.Endpoint)
	go func() {
		defer close(accepted)
		req, err := l.Accept(tb.Context())
		if err != nil {
			tb.Error(err)
			return
		}
		ep, err := req.Accept(tb.Context(), nil)
		if err != nil {
			tb.Error(err)
			return
		}
		accepted <- ep
	}()
	dialing, err = f.Dialer(cfg).Dial(tb.Context(), l.Addr().String(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	listening = <-accepted
	if listening == nil {
		tb.FailNow()
	}
	tb.Cleanup(func() {
		l.Close()
		dialing.Close()
		<-dialing.Done()
		<-listening.Done()
	})
	return dialing, listening
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}

func TestNames(t *testing.T) {
	f := New()
	a, err := f.Listen("a", Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Listen("a", Config{})
	wantErr(t, err, ErrInUse)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	wantErr(t, a.Close(), net.ErrClosed)
	if a, err = f.Listen("a", Config{}); err != nil {
		t.Errorf("the name of a closed listener: %v", err)
	}
	defer a.Close()

	// Generated names of listeners avoid existing names.
	if _, err := f.Listen("listener#1", Config{}); err != nil {
		t.Fatal(err)
	}
	b, err := f.Listen("", Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Addr().String(); got == "" || got == "listener#1" {
		t.Errorf("a nameless listener has the name %q", got)
	}
	if got := b.Addr().Network(); got != provider {
		t.Errorf("network %q", got)
	}

	_, err = f.Dialer(Config{}).Dial(t.Context(), "nobody", nil)
	wantErr(t, err, ErrRefused)
	_, err = New().Dialer(Config{}).Dial(t.Context(), "a", nil)
	wantErr(t, err, ErrRefused)
}

// A Dialer is one host, with a port for each connection.
func TestHosts(t *testing.T) {
	f := New()
	l, err := f.Listen("server", Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// from returns the address that the listener sees. It checks that the dialer has the same.
	from := func(d *Dialer) net.Addr {
		t.Helper()
		dialed := make(chan net.Addr, 1)
		go func() {
			defer close(dialed)
			ep, err := d.Dial(t.Context(), "server", nil)
			if err != nil {
				t.Error(err)
				return
			}
			dialed <- ep.Info().LocalAddr
		}()
		req, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ep, err := req.Accept(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ep.Close()
		remote := ep.Info().RemoteAddr
		if local := <-dialed; local != remote || req.Info().RemoteAddr != remote {
			t.Errorf("the ends and the request call the dialing end %v, %v and %v",
				local, remote, req.Info().RemoteAddr)
		}
		return remote
	}
	d, other := f.Dialer(Config{}), f.Dialer(Config{})
	a, b, c := from(d), from(d), from(other)
	if a == b || peerhost.Of(a) != peerhost.Of(b) {
		t.Errorf("connections of one Dialer come from %v and %v, want two ports of one host", a, b)
	}
	if peerhost.Of(c) == peerhost.Of(a) {
		t.Errorf("connections of two Dialers come from %v and %v, want two hosts", a, c)
	}
}

// The dialer gives up between Listener.Accept and the decision.
func TestDialAbandoned(t *testing.T) {
	f := New()
	l, err := f.Listen("server", Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := f.Dialer(Config{}).Dial(ctx, "server", nil)
		failed <- err
	}()
	req, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	wantErr(t, <-failed, context.Canceled)
	if ep, err := req.Accept(t.Context(), nil); err == nil {
		ep.Close()
		t.Error("accepted what had been given up")
	}
	wantErr(t, req.Reject(nil), errAbandoned)
}

// One decision is all.
func TestDecideTwice(t *testing.T) {
	f := New()
	l, err := f.Listen("server", Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	failed := make(chan error)
	go func() {
		_, err := f.Dialer(Config{}).Dial(t.Context(), "server", nil)
		failed <- err
	}()
	req, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Reject([]byte("no")); err != nil {
		t.Fatal(err)
	}
	wantErr(t, req.Reject(nil), errDecided)
	_, err = req.Accept(t.Context(), nil)
	wantErr(t, err, errDecided)
	var reject *transport.RejectError
	if err := <-failed; !errors.As(err, &reject) || string(reject.PrivateData) != "no" {
		t.Errorf("Dial: %v, %+v", err, reject)
	}
}

func TestInfo(t *testing.T) {
	for _, tt := range []struct {
		name              string
		dialer, listener  Config
		dialing, listning transport.Info
	}{
		{"defaults", Config{}, Config{},
			transport.Info{IRD: 16, ORD: 16, SendDepth: 1024, RecvDepth: 1024},
			transport.Info{IRD: 16, ORD: 16, SendDepth: 1024, RecvDepth: 1024}},
		{"the smaller one", Config{IRD: 3, ORD: 9}, Config{IRD: 5, ORD: 2, SendDepth: 7},
			transport.Info{IRD: 3, ORD: 5, SendDepth: 1024, RecvDepth: 1024},
			transport.Info{IRD: 5, ORD: 2, SendDepth: 7, RecvDepth: 1024}},
		{"none", Config{IRD: -1}, Config{RecvDepth: -1},
			transport.Info{IRD: 0, ORD: 16, SendDepth: 1024, RecvDepth: 1024},
			transport.Info{IRD: 16, ORD: 0, SendDepth: 1024, RecvDepth: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, l := tt.dialer.withDefaults(), tt.listener.withDefaults()
			for _, x := range []struct{ got, want transport.Info }{
				{describe(d, l, "d", "l", nil), tt.dialing},
				{describe(l, d, "l", "d", nil), tt.listning},
			} {
				if x.got.IRD != x.want.IRD || x.got.ORD != x.want.ORD ||
					x.got.SendDepth != x.want.SendDepth || x.got.RecvDepth != x.want.RecvDepth {
					t.Errorf("got %+v, want %+v", x.got, x.want)
				}
			}
		})
	}
}

// In process the poster of a bad request learns at once, and from the request itself.
func TestFailureOfRequest(t *testing.T) {
	here, there := dialed(t, Config{})
	here.Start(ignore{})
	there.Start(ignore{})
	w := make(waiter, 2)
	list := []transport.Slice{{Bytes: make([]byte, 8)}}
	err := here.Post(
		&transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 1 << 8}, Local: list, Done: w},
		&transport.WorkRequest{Op: transport.OpWrite, Local: list, Done: w},
	)
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, <-w, transport.ErrSTag)
	wantErr(t, <-w, transport.ErrFlushed)
	<-there.Done()
	wantErr(t, there.Err(), transport.ErrSTag)
	_, err = there.Expose(nil, list, transport.RemoteRead)
	wantErr(t, err, net.ErrClosed)
	// Later errors show why it ended.
	err = here.Post(&transport.WorkRequest{Op: transport.OpSend, Done: w})
	wantErr(t, err, net.ErrClosed)
	wantErr(t, err, transport.ErrSTag)
	if got, want := here.Err().Error(), "loopback write "+here.Info().RemoteAddr.String()+": terminated by peer: invalid steering tag"; got != want {
		t.Errorf("Err is %q, want %q", got, want)
	}
}

func TestDomain(t *testing.T) {
	d := New().Domain()
	a, _ := d.Alloc(10, 0)
	b, _ := d.Alloc(20, 0)
	if n, bytes := d.Allocated(); n != 2 || bytes != 30 {
		t.Errorf("%d slices with %d bytes, want 2 with 30", n, bytes)
	}
	for name, bad := range map[string]transport.Slice{
		"a part":      a.Sub(0, 5),
		"the rest":    a.Sub(5, 5),
		"not from it": {Bytes: make([]byte, 10)},
	} {
		if !panics(func() { d.Free(bad) }) {
			t.Errorf("Free of %s did not panic", name)
		}
	}
	d.Free(a)
	d.Free(b)
	if !panics(func() { d.Free(a) }) {
		t.Error("a second Free did not panic")
	}
	if n, bytes := d.Allocated(); n != 0 || bytes != 0 {
		t.Errorf("%d slices with %d bytes, want none", n, bytes)
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}
