package roce

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// UDPPort is the destination port of all datagrams (IBTA annex A17 section A17.4.5.2).
const UDPPort = 4791

// Addr is the address of one end of a connection, or of a Listener.
type Addr struct {
	IP   netip.Addr
	Port uint16 // of the service; of a dialing end, a random one
}

var _ net.Addr = Addr{}

// Network returns "roce".
func (a Addr) Network() string { return "roce" }

// AddrPort returns IP and Port.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPortFrom(a.IP, a.Port) }

// String returns "host:port".
func (a Addr) String() string { return a.AddrPort().String() }

// resolve looks up the addresses of a "host:port". An empty host gives none.
func resolve(ctx context.Context, addr string) ([]netip.Addr, uint16, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, 0, fmt.Errorf("port %q: %w", service, err)
	}
	if host == "" {
		return nil, uint16(port), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, 0, err
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, uint16(port), nil
}
