// Package sctprig makes connections of iWARP over SCTP, for tests that run on every provider.
package sctprig

import (
	"context"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// Listen listens on 127.0.0.1 at free ports, and returns a dialer that reaches it. The caller
// closes the listener.
func Listen(tb testing.TB, cfg iwarp.Config, low sctp.Config) (*iwarp.Listener, iwarp.Dialer) {
	tb.Helper()
	l, at := listen(tb, cfg, low)
	return l, dialer(tb, cfg, low, at.UDPPort)
}

// ListenBehind is Listen through a network with faults. The network is closed when the test ends.
func ListenBehind(tb testing.TB, cfg iwarp.Config, low sctp.Config, faults faultnet.Config) (
	*iwarp.Listener, iwarp.Dialer, *faultnet.Datagrams) {
	tb.Helper()
	l, at := listen(tb, cfg, low)
	n, err := faultnet.NewDatagrams(netip.AddrPortFrom(at.IP, at.UDPPort).String(), faults)
	if err != nil {
		l.Close()
		tb.Fatal(err)
	}
	tb.Cleanup(func() { n.Close() })
	return l, dialer(tb, cfg, low, netip.MustParseAddrPort(n.Addr()).Port()), n
}

func listen(tb testing.TB, cfg iwarp.Config, low sctp.Config) (*iwarp.Listener, sctp.Addr) {
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
	return l, below.Addr().(sctp.Addr)
}

// dialer returns a dialer that uses a UDP port. When the test ends, it waits for the dialer's
// associations to end.
func dialer(tb testing.TB, cfg iwarp.Config, low sctp.Config, port uint16) iwarp.Dialer {
	tb.Helper()
	low.UDPPort = int(port)
	d, err := sctp.NewDialer(low)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang.Patience)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			tb.Errorf("an association that has no sessions does not end: %v", err)
		}
	})
	return iwarp.Dialer{Config: cfg, DialContext: d.DialContext}
}
