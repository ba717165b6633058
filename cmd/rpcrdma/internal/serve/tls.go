package serve

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// interceptors are around all calls: those that are refused count, too.
func (s *server) interceptors() []oncrpc.ServerInterceptor {
	all := s.watched.Interceptors()
	if s.cfg.tls.Ca != "" {
		all = append(all, demandTLS)
	}
	return all
}

// demandTLS refuses calls over TCP without TLS. Procedure 0 is for everybody: it says that there is
// a server.
func demandTLS(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
	if conn, ok := c.Conn.(*recordmark.Conn); ok && c.Procedure != 0 {
		if _, ok := conn.TLS(); !ok {
			return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		}
	}
	return next(ctx, c)
}
