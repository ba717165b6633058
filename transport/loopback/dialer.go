package loopback

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Dialer connects to listeners of its Fabric. All its connections come from one host.
type Dialer struct {
	fabric *Fabric
	cfg    Config
	host   Addr
	ports  atomic.Uint64 // number of ports used so far
}

var _ transport.Dialer = (*Dialer)(nil)

// Dial connects to the listener named addr and sends it up to 512 bytes of private data. It waits
// until the peer accepts or rejects. It fails with ErrRefused if there is no such listener, or if
// the listener closes before Accept has returned the request.
func (d *Dialer) Dial(ctx context.Context, addr string, private []byte) (transport.Endpoint, error) {
	ep, err := d.dial(ctx, Addr(addr), private)
	if err != nil {
		return nil, opError("dial", Addr(addr), err)
	}
	return ep, nil
}

// MaxPrivateData returns 512.
func (d *Dialer) MaxPrivateData() int { return maxPrivateData }

func (d *Dialer) dial(ctx context.Context, addr Addr, private []byte) (*endpoint, error) {
	if len(private) > maxPrivateData {
		return nil, transport.ErrPrivateData
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := d.fabric.find(addr)
	if l == nil {
		return nil, ErrRefused
	}
	r := &request{
		listener: l,
		dialer:   d,
		from:     Addr(fmt.Sprintf("%s:%d", d.host, d.ports.Add(1))),
		private:  bytes.Clone(private),
		decided:  make(chan struct{}),
	}
	select {
	case l.backlog <- r:
	case <-l.closed:
		return nil, ErrRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-r.decided:
	case <-ctx.Done():
		r.abandon(ctx.Err())
	}
	return r.ep, r.err
}
