package rpcbind

import (
	"fmt"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Mapping says where a version of a program is served over one kind of transport: the rpcb of RFC
// 1833 section 2.1.
type Mapping struct {
	Program uint32
	Version uint32
	Netid   string // NetidTCP and the like
	Addr    string // a universal address, or the path of a Unix socket
	Owner   string // who has registered it; servers do not believe a client's word
}

// String returns what is known of m, such as "100003.3 tcp 0.0.0.0.8.1".
func (m Mapping) String() string {
	s := fmt.Sprintf("%d.%d", m.Program, m.Version)
	for _, more := range []string{m.Netid, m.Addr} {
		if more != "" {
			s += " " + more
		}
	}
	return s
}

// MarshalXDR appends m. A string of more than 1024 bytes is an error.
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

// Mappings returns what a server registers that listens at addr over the transport that base names,
// TCP, UDP or RDMA. A listener at the unspecified IPv6 address takes IPv4 connections too, as those
// of package net do: that makes two mappings, of netids base and base6.
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
