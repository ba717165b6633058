package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// defaultProvider is the one that commands use unless told otherwise.
const defaultProvider = "iwarp"

// provider makes both ends of a provider's connections. Where these are two, that which has dialled
// is traced.
type provider func(ctx context.Context) (transport.Listener, transport.Dialer, error)

var providers = map[string]provider{
	"iwarp": func(ctx context.Context) (transport.Listener, transport.Dialer, error) {
		below, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		l, err := iwarp.NewListener(below, iwarp.Config{})
		if err != nil {
			below.Close()
			return nil, nil, err
		}
		return l, dialerOverTCP(traceOf(ctx), iwarp.Config{}), nil
	},
	"sctp": func(ctx context.Context) (transport.Listener, transport.Dialer, error) {
		below, err := sctp.Listen(ctx, "127.0.0.1:0", sctp.Config{UDPPort: -1})
		if err != nil {
			return nil, nil, err
		}
		d, err := sctp.NewDialer(sctp.Config{
			UDPPort: int(below.Addr().(sctp.Addr).UDPPort), Trace: datagrams(traceOf(ctx)),
		})
		if err != nil {
			below.Close()
			return nil, nil, err
		}
		l, err := iwarp.NewListener(below, iwarp.Config{})
		if err != nil {
			below.Close()
			return nil, nil, err
		}
		return l, iwarp.Dialer{DialContext: d.DialContext}, nil
	},
	"roce": func(ctx context.Context) (transport.Listener, transport.Dialer, error) {
		at := netip.AddrPortFrom(freeInside(), 0)
		l, err := roce.Listen(ctx, at.String(), roce.Config{})
		if err != nil {
			return nil, nil, err
		}
		return l, roce.Dialer{Config: roce.Config{Trace: datagrams(traceOf(ctx))}}, nil
	},
	"loopback": func(ctx context.Context) (transport.Listener, transport.Dialer, error) {
		fabric := loopback.New()
		traceOf(ctx).Loopback(fabric)
		l, err := fabric.Listen("server", loopback.Config{})
		if err != nil {
			return nil, nil, err
		}
		return l, fabric.Dialer(loopback.Config{}), nil
	},
}

// findProvider returns the provider of a name.
func findProvider(name string) (provider, error) {
	if p := providers[name]; p != nil {
		return p, nil
	}
	return nil, usageError{fmt.Errorf("unknown provider %q; there is: %s", name, providerNames())}
}

func providerNames() string { return strings.Join(slices.Sorted(maps.Keys(providers)), ", ") }
