package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// FindPort returns the port at which a version of a program is served. Base names the transport:
// NetidTCP, NetidUDP or NetidRDMA. FindPort prefers the address family of its connection to the
// server, then tries the other. It uses the first of these that works:
//
//   - GETADDR, if the netid is that of the connection;
//   - a search of the results of Dump;
//   - GETPORT, for TCP and UDP, if the server has only version 2.
//
// FindPort does not return the IP address: it may be unreachable from here, and a client that asks
// one host must not be sent to another. The error wraps ErrNotRegistered if there is no address or
// its port is 0, and ErrAddr if it is not an IP address.
func (c *Client) FindPort(ctx context.Context, program, version uint32, base string) (uint16, error) {
	m := Mapping{Program: program, Version: version, Netid: base}
	conn, err := c.connection(ctx, nil)
	if err != nil {
		return 0, opError("getaddr", m, err)
	}
	own, other := base, base+"6"
	if a, ok := conn.RemoteAddr().(withIP); ok && a.AddrPort().Addr().Unmap().Is6() {
		own, other = other, own
	}
	addr, err := "", ErrNotRegistered
	if netid(conn, conn.RemoteAddr()) == own {
		addr, err = c.GetAddr(ctx, Mapping{Program: program, Version: version, Netid: own})
	}
	if errors.Is(err, ErrNotRegistered) {
		addr, err = c.listed(ctx, m, own, other)
	}
	var refused *oncrpc.AcceptError
	if errors.As(err, &refused) && refused.Stat == oncrpc.ProgMismatch && protocols[base] != 0 {
		return c.GetPort(ctx, PortMapping{Program: program, Version: version, Protocol: protocols[base]})
	}
	if err != nil {
		return 0, err
	}
	at, err := ParseUniversalAddr(addr)
	if err == nil && at.Port() == 0 {
		err = fmt.Errorf("%w: at port 0", ErrNotRegistered)
	}
	if err != nil {
		return 0, opError("getaddr", m, err)
	}
	return at.Port(), nil
}

// protocols are the port mapper's numbers of transports.
var protocols = map[string]uint32{NetidTCP: ProtoTCP, NetidUDP: ProtoUDP}

// listed searches all mappings for m, with the first netid that has one.
func (c *Client) listed(ctx context.Context, m Mapping, netids ...string) (string, error) {
	all, err := c.Dump(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range netids {
		i := slices.IndexFunc(all, func(x Mapping) bool {
			return x.Program == m.Program && x.Version == m.Version && x.Netid == id
		})
		if i >= 0 {
			return all[i].Addr, nil
		}
	}
	return "", opError("getaddr", m, ErrNotRegistered)
}
