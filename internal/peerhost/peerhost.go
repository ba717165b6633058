// Package peerhost is the one place that takes addresses of peers apart: it finds the host
// in an address, by which a peer is known again when it comes from another port.
package peerhost

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Host is the host part of an address: an IP address, or else a name. It is comparable. The
// zero value is that of an address that there is not.
type Host struct {
	ip   netip.Addr
	name string // where there is no ip
}

// Of returns the host of an address. That is, in this order,
//
//   - what its method AddrPort() netip.AddrPort says, as addresses of package net have it;
//   - what its method Host() string says;
//   - the host of its String, where that is "host:port";
//   - the whole of its String.
//
// The name of a Unix socket is a name, whatever it looks like: the peer has chosen it.
//
// An IP address is the same in whatever form it is written. An IPv4 address is one also as
// an IPv6 address. Of addresses with AddrPort nothing is allocated.
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
	if strings.Contains(s, ":") { // or an error would be made
		if host, _, err := net.SplitHostPort(s); err == nil {
			return named(host)
		}
	}
	return named(s)
}

func named(s string) Host {
	if strings.ContainsAny(s, ".:") { // likewise
		if ip, err := netip.ParseAddr(s); err == nil {
			return Host{ip: ip.Unmap()}
		}
	}
	return Host{name: s}
}

// String returns the IP address, with its zone, or the name, or "".
func (h Host) String() string {
	if h.ip.IsValid() {
		return h.ip.String()
	}
	return h.name
}

// WithoutZone returns the host without the zone of its IP address, if it has one.
func (h Host) WithoutZone() Host {
	h.ip = h.ip.WithZone("")
	return h
}

// In reports whether the host's IP address is in one of the networks. It is in none if it
// has no IP address. Zones do not count: networks know none.
func (h Host) In(networks []netip.Prefix) bool {
	ip := h.WithoutZone().ip
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}
