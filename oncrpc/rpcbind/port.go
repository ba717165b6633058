package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// FindPort returns the port at which a version of a program is served over the transport that base
// names: TCP, UDP or RDMA. That for the address family by which the server is reached comes first,
// then that for the other one. If the netid is the one of the connection it is asked for by
// GETADDR; what that does not find, and any other netid, is looked for in the results of Dump; and
// of a server that speaks version 2 alone, which knows TCP and UDP, it is had by GETPORT.
//
// The IP address beside the port is left out: it may be one that cannot be reached from here, and
// what asks one host is not to be sent to another. The error wraps ErrNotRegistered if there is
// none, or the port is 0, and ErrAddr if the address is none of IP.
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

// protocols are the port mapper's names of transports.
var protocols = map[string]uint32{NetidTCP: ProtoTCP, NetidUDP: ProtoUDP}

// listed looks through all mappings for m with the first of netids that there is.
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
