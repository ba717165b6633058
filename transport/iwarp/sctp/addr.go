package sctp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Addr is the address of one end of an association.
type Addr struct {
	IP      netip.Addr
	Port    uint16 // of SCTP
	UDPPort uint16 // the UDP port that carries SCTP
}

var _ net.Addr = Addr{}

// Network returns "sctp".
func (a Addr) Network() string { return "sctp" }

// AddrPort returns the IP address and the SCTP port.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPortFrom(a.IP, a.Port) }

// String returns "host:port", with the SCTP port.
func (a Addr) String() string { return a.AddrPort().String() }

// resolve looks up the address of a "host:port".
func resolve(ctx context.Context, addr string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q: %w", service, err)
	}
	if host == "" {
		return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(port)), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(ips[0].Unmap(), uint16(port)), nil
}
