package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The answers PROG_UNAVAIL and PROG_MISMATCH have the flavour's verifier, like all replies that
// accept a call (RFC 2203 section 5.3.3.2).
func TestFlavorNoProgram(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		s := newServer(t, macConfig(&macServer{keys: map[string]string{"user": "key"}}))
		conn, user := connect(t, over(t, s)), &macClient{name: "user", key: "key"}
		for _, tt := range []struct {
			program, version uint32
			want             oncrpc.AcceptStat
		}{{testProgram + 1, 1, oncrpc.ProgUnavail}, {testProgram, testVersion + 1, oncrpc.ProgMismatch}} {
			c := oncrpc.NewClient(conn, tt.program, tt.version, user)
			err := c.Call(t.Context(), 1, nil, nil)
			var accept *oncrpc.AcceptError
			if !errors.As(err, &accept) || accept.Stat != tt.want {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		}
	})
}

// odd is a flavour that misbehaves.
type odd struct {
	number oncrpc.AuthFlavor
	accept func(*oncrpc.Acceptance) error
}

func (o odd) Flavor() oncrpc.AuthFlavor { return o.number }

func (o odd) Accept(_ context.Context, a *oncrpc.Acceptance) error { return o.accept(a) }

// wrapFunc is a ResultsWrapper made from a function.
type wrapFunc func(e *xdr.Encoder) error

func (f wrapFunc) Wrap(e *xdr.Encoder, _ *xdr.Message) error { return f(e) }

// A misbehaving flavour fails its call with SYSTEM_ERR, in a well-formed reply.
func TestFlavorFaults(t *testing.T) {
	systemErr := unhex(t, accepted+"00000005")
	for name, accept := range map[string]func(*oncrpc.Acceptance) error{
		"verifier too long": func(a *oncrpc.Acceptance) error {
			a.Verifier = oncrpc.Auth{Flavor: 7, Body: make([]byte, oncrpc.MaxAuthBody+1)}
			return nil
		},
		"verifier of an error too long": func(a *oncrpc.Acceptance) error {
			a.Verifier = oncrpc.Auth{Flavor: 7, Body: make([]byte, oncrpc.MaxAuthBody+1)}
			return oncrpc.ErrGarbageArgs
		},
		"answer that cannot be encoded": func(a *oncrpc.Acceptance) error {
			e := a.BeginAnswer()
			e.Uint32(1)
			e.Opaque(make([]byte, 5), 4)
			return nil
		},
		"Wrap panics": func(a *oncrpc.Acceptance) error {
			a.Wrapper = wrapFunc(func(*xdr.Encoder) error { panic("deliberate") })
			return nil
		},
		"Wrap encodes too much": func(a *oncrpc.Acceptance) error {
			a.Wrapper = wrapFunc(func(e *xdr.Encoder) error { e.Opaque(make([]byte, 5), 4); return nil })
			return nil
		},
		"Accept panics": func(*oncrpc.Acceptance) error { panic("deliberate") },
	} {
		s := newServer(t, oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{odd{macFlavor, accept}}},
			oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error { c.Results.Uint32(1); return nil }})
		h := oncrpc.CallHeader{XID: 0x01020304, RPCVersion: 2, Program: testProgram, Version: testVersion, Procedure: 1,
			Cred: oncrpc.Auth{Flavor: macFlavor}}
		if got := dispatch(t, s, encodeHeader(&h)); !bytes.Equal(got, systemErr) {
			t.Errorf("%s: got %x, want %x", name, got, systemErr)
		}
	}
}

// Sys returns a credential only if AcceptAuthSys accepted it: not with another flavour of the same
// number, nor for a refused call.
func TestSysBelieved(t *testing.T) {
	type seen struct{ called, sys bool }
	for name, tt := range map[string]struct {
		flavor oncrpc.ServerFlavor
		cred   oncrpc.Auth
		want   seen
	}{
		"AcceptAuthSys":          {oncrpc.AcceptAuthSys(), mustSys(oncrpc.SysCred{UID: 7}), seen{true, true}},
		"AcceptAuthSys, below":   {odd{oncrpc.FlavorSys, func(a *oncrpc.Acceptance) error { return oncrpc.AcceptAuthSys().Accept(t.Context(), a) }}, mustSys(oncrpc.SysCred{UID: 7}), seen{true, true}},
		"another of that number": {odd{oncrpc.FlavorSys, func(*oncrpc.Acceptance) error { return nil }}, mustSys(oncrpc.SysCred{UID: 7}), seen{true, false}},
		"malformed, so refused":  {oncrpc.AcceptAuthSys(), oncrpc.Auth{Flavor: oncrpc.FlavorSys}, seen{true, false}},
		"the flavour is unknown": {oncrpc.AcceptAuthNone(), mustSys(oncrpc.SysCred{UID: 7}), seen{true, false}},
		"AUTH_NONE":              {oncrpc.AcceptAuthNone(), oncrpc.Auth{}, seen{true, false}},
	} {
		var got seen
		s := newServer(t, oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{tt.flavor},
			Interceptors: []oncrpc.ServerInterceptor{func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
				_, sys := c.Sys()
				got = seen{true, sys}
				return next(ctx, c)
			}}},
			oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { return nil }})
		h := oncrpc.CallHeader{XID: 1, RPCVersion: 2, Program: testProgram, Version: testVersion, Procedure: 1, Cred: tt.cred}
		dispatch(t, s, encodeHeader(&h))
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// A call retried after a denial keeps its transaction id, because an earlier transmission may have
// been executed and its reply lost.
func TestFlavorDeniedXID(t *testing.T) {
	onCarriers(t, func(t *testing.T, over carrier) {
		m := &macServer{keys: map[string]string{"user": "key"}, session: 1}
		seen := make(chan uint32, 3)
		cfg := macConfig(m)
		cfg.Interceptors = []oncrpc.ServerInterceptor{func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
			seen <- c.XID
			return next(ctx, c)
		}}
		s := newServer(t, cfg, oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { return nil }})
		c := oncrpc.NewClient(connect(t, over(t, s)), testProgram, testVersion, &macClient{name: "user", key: "key"})
		if err := c.Call(t.Context(), 1, nil, nil); err != nil {
			t.Fatal(err)
		}
		if denied, accepted := <-seen, <-seen; denied != accepted {
			t.Errorf("transaction ids %x and %x, want one twice", denied, accepted)
		}
		if len(seen) > 0 {
			t.Errorf("a third call, of transaction id %x", <-seen)
		}
	})
}
