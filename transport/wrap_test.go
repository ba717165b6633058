package transport_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestWrapped runs the suite for the endpoints of the example, which wrap another provider's.
func TestWrapped(t *testing.T) {
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
			f, cfg, m := loopback.New(), loopback.Config(o), new(meter)
			l, err := f.Listen("server", cfg)
			if err != nil {
				tb.Fatal(err)
			}
			return transport.WrapListener(l, m.wrap), transport.WrapDialer(f.Dialer(cfg), m.wrap), "server"
		},
		ReportsCauses: true,
	})
}

// Requests are counted by whichever way they come.
func TestWrappedPoller(t *testing.T) {
	l, d, fails := wrappable(t)
	var m meter
	_, dialed := accepted(t, l, transport.WrapDialer(d, m.wrap), nil)
	p, ok := transport.As[transport.Poller](dialed)
	if !ok {
		t.Fatal("the wrapped endpoint is no Poller")
	}
	wr := func() *transport.WorkRequest {
		return &transport.WorkRequest{Op: transport.OpInvalidate, Done: ignore{}}
	}
	fails(dialed.Post(wr(), wr()), nil)
	fails(p.PostPolled(wr()), nil)
	fails(p.PostPolled(nil), transport.ErrWorkRequest)
	if got := m.requests.Load(); got != 3 {
		t.Errorf("%d requests have been counted, want 3", got)
	}
	if _, ok := transport.As[transport.Abandoner](dialed); !ok {
		t.Error("an ability of the endpoint below is not found")
	}
}

// wrappable returns a listener and a dialer to wrap, with a function that checks an error.
func wrappable(t *testing.T) (l transport.Listener, d transport.Dialer, fails func(err, want error)) {
	t.Helper()
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, f.Dialer(loopback.Config{}), func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got error %v, want %v", err, want)
		}
	}
}

// accepted makes a connection, with a look at the request before it is accepted.
func accepted(t *testing.T, l transport.Listener, d transport.Dialer,
	look func(transport.Request)) (accepted, dialed transport.Endpoint) {
	t.Helper()
	dialing := make(chan transport.Endpoint, 1)
	go func() {
		ep, err := d.Dial(t.Context(), "server", nil)
		if err != nil {
			t.Error(err)
		}
		dialing <- ep
	}()
	req, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if look != nil {
		look(req)
	}
	if accepted, err = req.Accept(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if dialed = <-dialing; dialed == nil {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, ep := range []transport.Endpoint{accepted, dialed} {
			ep.Close()
			<-ep.Done()
		}
	})
	return accepted, dialed
}

// Each endpoint is wrapped once, before it is prepared, also if no connection is made.
func TestWrapListener(t *testing.T) {
	l, d, fails := wrappable(t)
	var below []transport.Endpoint
	wrapped := transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint {
		below = append(below, ep)
		return metered{ep, new(meter)}
	})
	if wrapped.Addr() != l.Addr() {
		t.Errorf("the wrapped listener is at %v, want %v", wrapped.Addr(), l.Addr())
	}
	ep, _ := accepted(t, wrapped, d, func(r transport.Request) {
		w, ok := r.(interface{ Unwrap() transport.Request })
		if !ok || w.Unwrap().Info().RemoteAddr != r.Info().RemoteAddr {
			t.Errorf("%T has no request below", r)
		}
		_, long := wrapped.MaxPrivateReply()
		got, err := r.Accept(t.Context(), func(ep transport.Endpoint) ([]byte, error) {
			if _, ok := ep.(metered); !ok {
				t.Errorf("a %T is prepared", ep)
			}
			return make([]byte, long+1), nil
		})
		fails(err, transport.ErrPrivateData)
		if got != nil || len(below) != 1 {
			t.Errorf("Accept that fails returned %v, %d endpoints wrapped", got, len(below))
		}
	})
	if e, ok := ep.(metered); !ok || len(below) != 2 || e.Endpoint != below[1] {
		t.Errorf("Accept returned %T, %d endpoints wrapped", ep, len(below))
	}
	fails(wrapped.Close(), nil)
	r, err := wrapped.Accept(t.Context())
	fails(err, net.ErrClosed)
	if r != nil {
		t.Errorf("Accept after Close returned %v", r)
	}
}

func TestWrapDialer(t *testing.T) {
	l, d, fails := wrappable(t)
	var below []transport.Endpoint
	wrapped := transport.WrapDialer(d, func(ep transport.Endpoint) transport.Endpoint {
		below = append(below, ep)
		return metered{ep, new(meter)}
	})
	if got, want := wrapped.MaxPrivateData(), d.MaxPrivateData(); got != want {
		t.Errorf("%d bytes of private data, want %d", got, want)
	}
	ep, err := wrapped.Dial(t.Context(), "nobody", nil)
	fails(err, loopback.ErrRefused)
	if ep != nil || len(below) > 0 {
		t.Errorf("Dial that fails returned %v, %d endpoints wrapped", ep, len(below))
	}
	_, ep = accepted(t, l, wrapped, nil)
	if e, ok := ep.(metered); !ok || len(below) != 1 || e.Endpoint != below[0] {
		t.Errorf("Dial returned %T, %d endpoints wrapped", ep, len(below))
	}
}

// stateful is a Dialer with a Close.
type stateful struct {
	transport.Dialer
	closed error // by Close
}

func (d stateful) Close() error { return d.closed }

// TestWrapDialerClose: closing the wrapped Dialer closes the one below.
func TestWrapDialerClose(t *testing.T) {
	_, d, fails := wrappable(t)
	want := errors.New("closed with a Read under way")
	same := func(ep transport.Endpoint) transport.Endpoint { return ep }
	for below, want := range map[transport.Dialer]error{d: nil, stateful{d, want}: want} {
		c, ok := transport.WrapDialer(below, same).(io.Closer)
		if !ok {
			t.Fatal("the wrapped dialer is no io.Closer")
		}
		fails(c.Close(), want)
	}
}
