package rpcrdma

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Dial connects to addr through a provider. The connection may call at once; to answer the
// peer's calls as well, have it Serve.
func Dial(ctx context.Context, d transport.Dialer, addr string, cfg Config) (*Conn, error) {
	cfg = cfg.withDefaults()
	ep, err := d.Dial(ctx, addr, cfg.private())
	if err != nil {
		return nil, &OpError{"dial", nil, err}
	}
	pool := dialled.join(ep.Domain())
	c := newConn(ep, cfg, pool, newBudget(cfg.ServerMemory), nil)
	c.leavePool = func() { dialled.leave(pool) }
	go c.run()
	return c, nil
}
