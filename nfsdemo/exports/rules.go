package exports

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Resolver looks up the addresses of hosts, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

var _ Resolver = (*net.Resolver)(nil)

// Rules returns the rules of an export, in the order in which exports(5) applies them. It looks up
// the names of hosts. The error is an *Error.
func (x *Export) Rules(ctx context.Context, r Resolver) ([]nfsserver.Rule, error) {
	var rules []nfsserver.Rule
	for _, c := range x.ranked() {
		networks := c.Networks
		if c.Host != "" {
			addrs, err := r.LookupNetIP(ctx, "ip", c.Host)
			if err != nil {
				return nil, &Error{c.Line, fmt.Errorf("host %s: %w", c.Host, err)}
			}
			for _, a := range addrs {
				a = a.Unmap().WithZone("")
				networks = append(networks, netip.PrefixFrom(a, a.BitLen()))
			}
			if len(networks) == 0 { // no Clients would mean everybody
				return nil, &Error{c.Line, fmt.Errorf("host %s has no addresses", c.Host)}
			}
		}
		rules = append(rules, nfsserver.Rule{
			Clients: networks, ReadOnly: c.ReadOnly, Privileged: !c.Insecure, Squash: c.Squash,
			Anon:    &vfs.Cred{UID: c.AnonUID, GID: c.AnonGID},
			Flavors: c.Flavors, PerFlavor: c.PerFlavor,
		})
	}
	return rules, nil
}

// ranked returns the clients in the order in which exports(5) applies them.
func (x *Export) ranked() []Client {
	clients := slices.Clone(x.Clients)
	slices.SortStableFunc(clients, func(a, b Client) int { return a.class() - b.class() })
	return clients
}

// class returns the rank of a client: hosts, then networks, then all.
func (c *Client) class() int {
	switch {
	case c.Host != "", len(c.Networks) > 0 && c.Networks[0].IsSingleIP() && !c.network:
		return 0
	case len(c.Networks) > 0:
		return 1
	}
	return 2
}
