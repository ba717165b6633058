package rpcbind

import (
	"fmt"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Mapping is the address of one version of a program over one kind of transport: the rpcb of RFC
// 1833 section 2.1.
type Mapping struct {
	Program uint32
	Version uint32
	Netid   string // NetidTCP and the like
	Addr    string // universal address, or path of a Unix socket
	Owner   string // the user who registered it; servers ignore what a client says here
}

// String returns the fields that are set, such as "100003.3 tcp 0.0.0.0.8.1".
func (m Mapping) String() string {
	s := fmt.Sprintf("%d.%d", m.Program, m.Version)
	for _, more := range []string{m.Netid, m.Addr} {
		if more != "" {
			s += " " + more
		}
	}
	return s
}

// MarshalXDR encodes m. A string of more than 1024 bytes is an error.
func (m *Mapping) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(m.Program)
	e.Uint32(m.Version)
	e.String(m.Netid, maxString)
	e.String(m.Addr, maxString)
	e.String(m.Owner, maxString)
}

// UnmarshalXDR decodes m.
func (m *Mapping) UnmarshalXDR(d *xdr.Decoder) {
	m.Program = d.Uint32()
	m.Version = d.Uint32()
	m.Netid = d.String(maxString)
	m.Addr = d.String(maxString)
	m.Owner = d.String(maxString)
}

// Mappings returns the mappings for a server that listens at addr. Base names the transport:
// NetidTCP, NetidUDP or NetidRDMA. Listeners at the unspecified IPv6 address also accept IPv4, as
// in package net, so that address gives two mappings, with netids base and base6.
func Mappings(program, version uint32, base string, addr netip.AddrPort) []Mapping {
	ip := addr.Addr().Unmap()
	v4 := Mapping{Program: program, Version: version, Netid: base, Addr: UniversalAddr(addr)}
	if ip.Is4() {
		return []Mapping{v4}
	}
	v6 := v4
	v6.Netid = base + "6"
	if !ip.IsUnspecified() {
		return []Mapping{v6}
	}
	v4.Addr = UniversalAddr(netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port()))
	return []Mapping{v4, v6}
}
