package rpcbind

import (
	"net"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// registry holds the mappings for versions 3 and 4.
type registry []Mapping

func (r registry) getAddr(c *oncrpc.Call, m Mapping) { r.answer(c, m, true) }

func (r registry) getVersAddr(c *oncrpc.Call, m Mapping) { r.answer(c, m, false) }

func (r registry) dump(c *oncrpc.Call, _ void) {
	for i := range r {
		c.Results.Bool(true)
		r[i].MarshalXDR(c.Results)
	}
	c.Results.Bool(false)
}

// answer answers the call with the address of m.Program and m.Version or, if anyVersion is set,
// that of another version.
func (r registry) answer(c *oncrpc.Call, m Mapping, anyVersion bool) {
	here := c.Conn.LocalAddr()
	if !known(m.Netid) {
		m.Netid = netid(c.Conn, here)
	}
	found := ""
	for _, x := range r {
		if x.Program != m.Program || x.Netid != m.Netid {
			continue
		}
		if x.Version == m.Version {
			found = x.Addr
			break
		}
		if anyVersion && found == "" {
			found = x.Addr
		}
	}
	c.Results.String(merge(found, here), maxString)
}

// merge returns a universal address. If its IP address is unspecified, it is replaced by that of
// here.
func merge(uaddr string, here net.Addr) string {
	a, err := ParseUniversalAddr(uaddr)
	over, ok := here.(withIP)
	if err != nil || !ok || !a.Addr().IsUnspecified() {
		return uaddr
	}
	ip := over.AddrPort().Addr().Unmap()
	if ip.Is4() != a.Addr().Is4() {
		return uaddr
	}
	return UniversalAddr(netip.AddrPortFrom(ip, a.Port()))
}

// ports returns the mappings that version 2 can express.
func (r registry) ports() portRegistry {
	var list portRegistry
	for _, m := range r {
		a, err := ParseUniversalAddr(m.Addr)
		if err != nil || !a.Addr().Is4() {
			continue
		}
		p := PortMapping{Program: m.Program, Version: m.Version, Port: a.Port()}
		switch m.Netid {
		case NetidTCP:
			p.Protocol = ProtoTCP
		case NetidUDP:
			p.Protocol = ProtoUDP
		default:
			continue
		}
		list = append(list, p)
	}
	return list
}

// portRegistry holds the mappings for version 2.
type portRegistry []PortMapping

// getPort answers with the port of m.Program and m.Version, or else that of another version.
func (r portRegistry) getPort(c *oncrpc.Call, m PortMapping) {
	found := uint16(0)
	for _, x := range r {
		if x.Program != m.Program || x.Protocol != m.Protocol {
			continue
		}
		if x.Version == m.Version {
			found = x.Port
			break
		}
		if found == 0 {
			found = x.Port
		}
	}
	c.Results.Uint32(uint32(found))
}

func (r portRegistry) dump(c *oncrpc.Call, _ void) {
	for i := range r {
		c.Results.Bool(true)
		r[i].MarshalXDR(c.Results)
	}
	c.Results.Bool(false)
}
