package reach

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// DefaultProvider is the provider that commands use by default.
const DefaultProvider = "iwarp"

// Provider makes both ends of connections inside this process. A trace has the packets of the
// dialling end.
type Provider func(ctx context.Context) (transport.Listener, transport.Dialer, error)

var Providers = map[string]Provider{
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
		return l, dialerOverTCP(TraceOf(ctx), RDMAConfig{}), nil
	},
	"sctp": func(ctx context.Context) (transport.Listener, transport.Dialer, error) {
		below, err := sctp.Listen(ctx, "127.0.0.1:0", sctp.Config{UDPPort: -1})
		if err != nil {
			return nil, nil, err
		}
		d, err := sctp.NewDialer(sctp.Config{
			UDPPort: int(below.Addr().(sctp.Addr).UDPPort), Trace: Datagrams(TraceOf(ctx)),
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
		at := netip.AddrPortFrom(FreeInside(), 0)
		l, err := roce.Listen(ctx, at.String(), roce.Config{})
		if err != nil {
			return nil, nil, err
		}
		return l, roce.Dialer{Config: roce.Config{Trace: Datagrams(TraceOf(ctx))}}, nil
	},
	"loopback": func(ctx context.Context) (transport.Listener, transport.Dialer, error) {
		fabric := loopback.New()
		TraceOf(ctx).Loopback(fabric)
		l, err := fabric.Listen("server", loopback.Config{})
		if err != nil {
			return nil, nil, err
		}
		return l, fabric.Dialer(loopback.Config{}), nil
	},
}

// FindProvider returns the provider of a name.
func FindProvider(name string) (Provider, error) {
	if p := Providers[name]; p != nil {
		return p, nil
	}
	return nil, cli.UsageError{Err: fmt.Errorf("unknown provider %q: write one of %s", name, ProviderNames())}
}

// ProviderNames lists the providers.
func ProviderNames() string { return strings.Join(slices.Sorted(maps.Keys(Providers)), ", ") }
