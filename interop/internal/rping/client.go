package rping

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Client pings the server at the other end of ep, and closes ep, which must not have been started.
// It returns the number of pings that came back.
func Client(ctx context.Context, ep transport.Endpoint, o Options) (int, error) {
	if err := o.settle(); err != nil {
		ep.Close()
		return 0, err
	}
	c, err := open(ep)
	if err != nil {
		return 0, err
	}
	defer c.close()
	p, err := newPinger(c, o)
	if err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		if o.Count > 0 && n == o.Count {
			return n, nil
		}
		if err := p.ping(ctx, n); err != nil {
			if o.Count == 0 && ctx.Err() != nil {
				err = nil
			}
			return n, err
		}
	}
}

// pinger is a client with its buffers, and the messages that announce them.
type pinger struct {
	*conn
	Options
	source, sink       transport.Slice
	sourceMsg, sinkMsg transport.Slice
}

func newPinger(c *conn, o Options) (*pinger, error) {
	p := &pinger{conn: c, Options: o}
	for _, b := range []struct {
		memory, msg *transport.Slice
		access      transport.Access
	}{
		{&p.source, &p.sourceMsg, transport.RemoteRead},
		{&p.sink, &p.sinkMsg, transport.RemoteWrite},
	} {
		var err error
		if *b.memory, err = c.alloc(o.Size, b.access); err != nil {
			return nil, err
		}
		if *b.msg, err = c.expose(*b.memory, b.access); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// ping makes one ping.
func (p *pinger) ping(ctx context.Context, n int) error {
	copy(p.source.Bytes, Data(n, p.Size))
	clear(p.sink.Bytes) // anything in it later comes from the server
	for _, msg := range []transport.Slice{p.sourceMsg, p.sinkMsg} {
		if err := p.send(msg); err != nil {
			return err
		}
		if _, err := p.receive(ctx); err != nil {
			return err
		}
	}
	if p.Verify {
		if err := verify(p.sink.Bytes, n); err != nil {
			return err
		}
	}
	return p.print("ping data", p.sink.Bytes)
}
