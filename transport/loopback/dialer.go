package loopback

import (
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
func (d *Dialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	name := Addr(addr)
	l := d.fabric.find(name)
	switch err := ctx.Err(); {
	case err != nil:
		return nil, opError("dial", name, err)
	case l == nil:
		return nil, opError("dial", name, ErrRefused)
	}
	r := &request{
		listener: l,
		link:     newLink(d.fabric),
		cfg:      d.cfg,
		from:     Addr(fmt.Sprintf("%s:%d", d.host, d.ports.Add(1))),
		decided:  make(chan struct{}),
	}
	r.dialing = newEndpoint(r.link, describe(d.cfg, Config{}, r.from, name, nil))
	err := prepare.Connect("dial", r.dialing, func(private []byte) error {
		return r.ask(ctx, private)
	}, r.dialing.discard)
	if err != nil {
		return nil, err
	}
	return r.dialing, nil
}

// MaxPrivateData returns 512.
func (d *Dialer) MaxPrivateData() int { return maxPrivateData }
