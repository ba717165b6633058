package serve

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// interceptors wrap all calls, refused ones included, so that metrics count those.
func (s *server) interceptors() []oncrpc.ServerInterceptor {
	all := s.watched.Interceptors()
	if s.cfg.tls.Ca != "" {
		all = append(all, demandTLS)
	}
	return all
}

// demandTLS refuses calls over TCP without TLS, except procedure 0, which only tests whether the
// server is there.
func demandTLS(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
	if conn, ok := c.Conn.(*recordmark.Conn); ok && c.Procedure != 0 {
		if _, ok := conn.TLS(); !ok {
			return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		}
	}
	return next(ctx, c)
}
