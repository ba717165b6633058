package rpcrdma

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Dial connects to addr through a provider. The connection may call at once; to answer the
// peer's calls as well, have it Serve. A dialer that is an io.Closer stays the caller's.
//
// Its error is a *oncrpc.ConfigError, before it dials, or an *OpError that wraps that of the
// dialer, ErrProviderLimits, or transport.ErrPrivateData where the dialer cannot hand over the 8
// bytes of RFC 8797 (Config.NoPrivateData does without).
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
