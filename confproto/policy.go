package confproto

import (
	"context"
	"net/netip"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// connOf returns the connection to configure.
func connOf(c *oncrpc.Call) (*rpcrdma.Conn, error) {
	conn, ok := c.Conn.(*rpcrdma.Conn)
	if !ok {
		return nil, &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail}
	}
	return conn, nil
}

// null is the null procedure.
func null(_ context.Context, c *oncrpc.Call) error {
	_, err := connOf(c)
	return err
}

// authorize says who may configure.
func (s *server) authorize(c *oncrpc.Call) error {
	conn, err := connOf(c)
	if err != nil {
		return err
	}
	if s.flavors != nil && !slices.Contains(s.flavors, c.Cred.Flavor) || !s.admits(conn) {
		return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
	}
	return nil
}

// admits reports whether the peer's address is one of the clients'.
func (s *server) admits(conn *rpcrdma.Conn) bool {
	if len(s.clients) == 0 {
		return true
	}
	a, ok := conn.RemoteAddr().(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return false
	}
	peer := a.AddrPort().Addr().Unmap().WithZone("") // prefixes know neither zones nor IPv4 in IPv6
	return slices.ContainsFunc(s.clients, func(p netip.Prefix) bool { return p.Contains(peer) })
}
