package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// provider makes the two ends of an RDMA provider.
type provider func(t testing.TB) (transport.Listener, transport.Dialer)

// providers are what tests of memory run on.
var providers = map[string]provider{
	"loopback": func(t testing.TB) (transport.Listener, transport.Dialer) {
		f := loopback.New()
		l, err := f.Listen(rigAddr, loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, f.Dialer(loopback.Config{})
	},
	"iwarp": onIWARP(iwarp.Config{}),
}

// onProviders runs a test on each of them.
func onProviders(t *testing.T, test func(t *testing.T, provider string)) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) { test(t, provider) })
	}
}

// onIWARP makes listeners and dialers of iwarp.
func onIWARP(cfg iwarp.Config) provider {
	cfg.Logger = quiet
	return func(t testing.TB) (transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", cfg)
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{Config: cfg}
	}
}

// newWireRig is newRig over iWARP, whose peers have an IP address.
func newWireRig(t testing.TB, cfg rpcrdma.Config) *rig {
	t.Helper()
	l, d := providers["iwarp"](t)
	return serveRig(t, cfg, l, d, sameEndpoint)
}

// inBothDialects runs a test in each dialect.
func inBothDialects(t *testing.T, test func(*testing.T, rpcrdma.Dialect)) {
	t.Helper()
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) { test(t, d) })
	}
}
