package confproto

import (
	"context"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
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

// authorize returns an error unless the caller may configure. It does not block, so the handler can
// call it and be NonBlocking.
func (s *server) authorize(c *oncrpc.Call, conn *rpcrdma.Conn) error {
	if s.flavors != nil && !slices.Contains(s.flavors, c.Cred.Flavor) || !s.protects(c) ||
		!s.admits(conn) {
		return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
	}
	return nil
}

// protects reports whether a call has at least the demanded service of RPCSEC_GSS.
func (s *server) protects(c *oncrpc.Call) bool {
	if s.service == 0 {
		return true
	}
	caller, ok := c.Identity().(*gss.Caller)
	return ok && caller.Service >= s.service
}

// admits reports whether the peer's address is in Config.Clients.
func (s *server) admits(conn *rpcrdma.Conn) bool {
	return len(s.clients) == 0 || peerhost.Of(conn.RemoteAddr()).In(s.clients)
}
