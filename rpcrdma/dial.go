package rpcrdma

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Dial connects to addr through a provider. The connection can make calls at once. To answer the
// peer's calls as well, call Conn.Serve. Dial does not close d, even if d is an io.Closer.
//
// It fails with
//
//   - a *oncrpc.ConfigError, before it dials;
//   - an *OpError that wraps the error of d.Dial, or ErrProviderLimits;
//   - an *OpError that wraps transport.ErrPrivateData, if d cannot send the 8 bytes of RFC 8797
//     (set Config.NoPrivateData then).
func Dial(ctx context.Context, d transport.Dialer, addr string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	var c *Conn
	_, err = d.Dial(ctx, addr, func(ep transport.Endpoint) (private []byte, err error) {
		shared := dialled.join(ep.Domain())
		c, err = newConn(ep, &cfg, shared, budgets{chunks: budget.New[incoming](2 * cfg.ConnMemory)})
		if err != nil {
			dialled.leave(shared)
			return nil, err
		}
		c.leaveShared = func() { dialled.leave(shared) }
		return c.prepare()
	})
	if err != nil {
		if c != nil {
			c.unmade()
		}
		return nil, &OpError{"dial", nil, err}
	}
	c.connected()
	c.ep.Start(&c.receiver)
	go c.watch()
	return c, nil
}
