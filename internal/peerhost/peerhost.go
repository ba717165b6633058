// Package peerhost finds the host in a peer's address. A peer that comes back from another port is
// recognized by its host. No other package takes addresses of peers apart.
package peerhost

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Host is the host part of an address: an IP address, or else a name. It is comparable. The zero
// value is the host of a nil address.
type Host struct {
	ip   netip.Addr
	name string // if ip is invalid
}

// Of returns the host of an address. It uses the first of these that applies:
//
//   - the result of its method AddrPort() netip.AddrPort, which addresses of package net have;
//   - the result of its method Host() string;
//   - the host in its String, if that is "host:port";
//   - all of its String.
//
// The name of a Unix socket is always a name, even if it looks like an IP address, because the peer
// chose it.
//
// All notations of an IP address give the same Host, and so do an IPv4 address and its IPv4-mapped
// IPv6 form. For addresses with AddrPort, nothing is allocated.
func Of(a net.Addr) Host {
	switch a := a.(type) {
	case nil:
		return Host{}
	case interface{ AddrPort() netip.AddrPort }:
		return Host{ip: a.AddrPort().Addr().Unmap()}
	case interface{ Host() string }:
		return named(a.Host())
	case *net.UnixAddr:
		return Host{name: a.String()}
	}
	s := a.String()
	if strings.Contains(s, ":") { // otherwise SplitHostPort allocates an error
		if host, _, err := net.SplitHostPort(s); err == nil {
			return named(host)
		}
	}
	return named(s)
}

func named(s string) Host {
	if strings.ContainsAny(s, ".:") { // likewise for ParseAddr
		if ip, err := netip.ParseAddr(s); err == nil {
			return Host{ip: ip.Unmap()}
		}
	}
	return Host{name: s}
}

// String returns the IP address with its zone, the name, or "".
func (h Host) String() string {
	if h.ip.IsValid() {
		return h.ip.String()
	}
	return h.name
}

// WithoutZone returns the host with the zone removed from its IP address.
func (h Host) WithoutZone() Host {
	h.ip = h.ip.WithZone("")
	return h
}

// loopback4 is this host, by whichever address (RFC 1122 section 3.2.1.3).
var loopback4 = netip.MustParsePrefix("127.0.0.0/8")

// In reports whether the host's IP address is in one of the networks. It ignores the zone, since
// networks have none. A host without an IP address is in no network. All of 127.0.0.0/8 is one
// address: any process may choose among them.
func (h Host) In(networks []netip.Prefix) bool {
	ip := h.WithoutZone().ip
	own := loopback4.Contains(ip)
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool {
		return p.Contains(ip) || own && p.Overlaps(loopback4)
	})
}
