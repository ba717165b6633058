package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// provider makes both ends of a provider's connections.
type provider func() (transport.Listener, transport.Dialer, error)

var providers = map[string]provider{
	"loopback": func() (transport.Listener, transport.Dialer, error) {
		fabric := loopback.New()
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
