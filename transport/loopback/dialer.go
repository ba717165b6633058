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
func (d *Dialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	ep, err := d.dial(ctx, Addr(addr), prepare)
	if err != nil {
		return nil, opError("dial", Addr(addr), err)
	}
	return ep, nil
}

// MaxPrivateData returns 512.
func (d *Dialer) MaxPrivateData() int { return maxPrivateData }

func (d *Dialer) dial(ctx context.Context, addr Addr, prepare transport.Preparation) (
	_ *endpoint, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := d.fabric.find(addr)
	if l == nil {
		return nil, ErrRefused
	}
	from := Addr(fmt.Sprintf("%s:%d", d.host, d.ports.Add(1)))
	r := &request{
		listener: l,
		link:     newLink(d.fabric),
		cfg:      d.cfg,
		from:     from,
		decided:  make(chan struct{}),
	}
	e := newEndpoint(r.link, describe(d.cfg, Config{}, from, addr, nil))
	err = transport.ErrGoexit // unless prepare returns
	defer func() {
		if err != nil {
			e.discard(opError("dial", addr, err))
		}
	}()
	private, err := prepare.Prepare(e)
	if err != nil {
		return nil, err
	}
	if len(private) > maxPrivateData {
		return nil, transport.ErrPrivateData
	}
	r.dialing, r.private = e, bytes.Clone(private)
	return e, r.ask(ctx)
}
