package nfsmount

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// lookUp asks the host's rpcbind for the port of MOUNT over TCP.
func (c *Config) lookUp(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	conn, err := c.dial(ctx, c.addr(rpcbind.Port), false)
	if err != nil {
		return 0, err
	}
	defer end(conn)
	own, other := rpcbind.TCP, rpcbind.TCP6
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok && a.IP.To4() == nil {
		own, other = other, own
	}
	client := rpcbind.NewClient(conn)
	addr, err := client.GetAddr(ctx, rpcbind.Mapping{Program: mount3.Program, Version: mount3.Version, Netid: own})
	var refused *oncrpc.AcceptError
	switch {
	case errors.Is(err, rpcbind.ErrNotRegistered):
		addr, err = listed(ctx, client, err, own, other)
	case errors.As(err, &refused) && refused.Stat == oncrpc.ProgMismatch: // there is but the port mapper
		port, err := client.GetPort(ctx, rpcbind.PortMapping{Program: mount3.Program, Version: mount3.Version, Protocol: rpcbind.ProtoTCP})
		return int(port), err
	}
	if err != nil {
		return 0, err
	}
	at, err := rpcbind.ParseUniversalAddr(addr)
	if err == nil && at.Port() == 0 {
		err = rpcbind.ErrNotRegistered
	}
	return int(at.Port()), err
}

// listed looks through all that is registered: GETADDR leaves out what it cannot fit to the caller's address. If nothing is found, that is
// notFound.
func listed(ctx context.Context, c *rpcbind.Client, notFound error, netids ...string) (string, error) {
	all, err := c.Dump(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range netids {
		for _, m := range all {
			if m.Program == mount3.Program && m.Version == mount3.Version && m.Netid == id {
				return m.Addr, nil
			}
		}
	}
	return "", notFound
}
