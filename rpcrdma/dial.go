package rpcrdma

import (
	"context"
	"fmt"

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
	private := cfg.private()
	if most := d.MaxPrivateData(); len(private) > most {
		err := fmt.Errorf("%w: %d bytes, %d possible", transport.ErrPrivateData, len(private), most)
		return nil, &OpError{"dial", nil, err}
	}
	ep, err := d.Dial(ctx, addr, private)
	if err != nil {
		return nil, &OpError{"dial", nil, err}
	}
	pool := dialled.join(ep.Domain())
	c, err := newConn(ep, &cfg, &memory{pool: pool, chunks: newBudget(2 * cfg.ConnMemory)})
	if err != nil {
		ep.Close()
		<-ep.Done()
		dialled.leave(pool)
		return nil, &OpError{"dial", ep.Info().RemoteAddr, err}
	}
	c.leavePool = func() { dialled.leave(pool) }
	go c.run()
	return c, nil
}
