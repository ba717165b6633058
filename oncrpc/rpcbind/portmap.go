package rpcbind

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Protocols of a PortMapping, by their numbers in IP (RFC 1833 section 3.1).
const (
	ProtoTCP = 6
	ProtoUDP = 17
)

// PortMapping is the port of one version of a program, as the port mapper has it: the mapping of
// RFC 1833 section 3.1. It supports only IPv4.
type PortMapping struct {
	Program  uint32
	Version  uint32
	Protocol uint32 // ProtoTCP or ProtoUDP
	Port     uint16
}

// String describes m.
func (m PortMapping) String() string {
	return fmt.Sprintf("%d.%d protocol %d port %d", m.Program, m.Version, m.Protocol, m.Port)
}

// MarshalXDR appends m.
func (m *PortMapping) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(m.Program)
	e.Uint32(m.Version)
	e.Uint32(m.Protocol)
	e.Uint32(uint32(m.Port))
}

// UnmarshalXDR decodes m.
func (m *PortMapping) UnmarshalXDR(d *xdr.Decoder) {
	m.Program = d.Uint32()
	m.Version = d.Uint32()
	m.Protocol = d.Uint32()
	m.Port = uint16(d.Enum(0xffff))
}

// SetPort registers m with the port mapper. The error wraps ErrRefused if another mapping is
// registered, or if the caller may not register.
func (c *Client) SetPort(ctx context.Context, m PortMapping) error {
	return c.change(ctx, Version2, procSet, m, &m)
}

// UnsetPort removes the mappings of m.Program and m.Version for all protocols. The error wraps
// ErrRefused if the caller may not, and with some servers if there are none.
func (c *Client) UnsetPort(ctx context.Context, m PortMapping) error {
	return c.change(ctx, Version2, procUnset, m, &m)
}

// GetPort asks the port mapper for the port of m.Program, m.Version and m.Protocol. The error wraps
// ErrNotRegistered if there is none. The port mapper may return the port of another version if this
// one is not registered.
func (c *Client) GetPort(ctx context.Context, m PortMapping) (uint16, error) {
	var p port
	if err := c.call(ctx, Version2, procGetAddr, &m, &p); err != nil {
		return 0, opError("getport", m, err)
	}
	switch {
	case p == 0:
		return 0, opError("getport", m, ErrNotRegistered)
	case p > 0xffff:
		return 0, opError("getport", m, fmt.Errorf("the server names port %d", p))
	}
	return uint16(p), nil
}

// DumpPorts returns all mappings of the port mapper.
func (c *Client) DumpPorts(ctx context.Context) ([]PortMapping, error) {
	var l ports
	if err := c.call(ctx, Version2, procDump, nil, &l); err != nil {
		return nil, opError("dump", nil, err)
	}
	return l, nil
}
