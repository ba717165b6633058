// Package sctprig has connections of iWARP over SCTP for tests that run on every provider.
package sctprig

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// Listen listens on 127.0.0.1, at any ports, and returns who dials there. The caller closes the
// listener.
func Listen(tb testing.TB, cfg iwarp.Config, low sctp.Config) (*iwarp.Listener, iwarp.Dialer) {
	tb.Helper()
	low.UDPPort = -1
	below, err := sctp.Listen(tb.Context(), "127.0.0.1:0", low)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := iwarp.NewListener(below, cfg)
	if err != nil {
		below.Close()
		tb.Fatal(err)
	}
	low.UDPPort = int(below.Addr().(sctp.Addr).UDPPort)
	d, err := sctp.NewDialer(low)
	if err != nil {
		l.Close()
		tb.Fatal(err)
	}
	return l, iwarp.Dialer{Config: cfg, DialContext: d.DialContext}
}
