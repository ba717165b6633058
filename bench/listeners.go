package bench

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// listeners has the listeners of a server.
type listeners struct {
	rpc, raw net.Listener
	rdma     []rdmaListener // those of iWARP first, in the order of rdmaNames
}

// listen listens on five ports.
func (o *ServerOptions) listen(ctx context.Context) (_ *listeners, err error) {
	name, service, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || port > 1<<16-5 {
		return nil, fmt.Errorf("bench: listen on %s: want a port up to %d, because the next four are used too",
			o.Listen, 1<<16-5)
	}
	next := func() string {
		at := net.JoinHostPort(name, strconv.FormatUint(port, 10))
		if port > 0 {
			port++
		}
		return at
	}
	p := new(listeners)
	defer func() {
		if err != nil {
			p.close()
			err = fmt.Errorf("bench: %w", err)
		}
	}()
	lc := net.ListenConfig{Control: o.Sockets.Control}
	traced := func() (net.Listener, error) {
		l, err := lc.Listen(ctx, "tcp", next())
		if err != nil {
			return nil, err
		}
		return o.Trace.Listener(l), nil
	}
	if p.rpc, err = traced(); err != nil {
		return nil, err
	}
	cfg := iwarp.Config{
		CRC:    iwarp.CRCOff, // the peer can turn it on
		Logger: o.Logger,
		Choose: func(_ net.Addr, r *mpa.Request, c *mpa.Config) error {
			if r.Markers() {
				c.Markers = mpa.MarkersOn // in both directions
			}
			return nil
		},
	}
	for _, listener := range rdmaNames {
		below, err := traced()
		if err != nil {
			return nil, err
		}
		l, err := iwarp.NewListener(below, cfg)
		if err != nil {
			below.Close()
			return nil, err
		}
		p.rdma = append(p.rdma, rdmaListener{listener, l})
	}
	if o.RoCE {
		if err := p.listenRoCE(ctx, name, o); err != nil {
			return nil, err
		}
	}
	if p.raw, err = lc.Listen(ctx, "tcp", next()); err != nil {
		return nil, err
	}
	return p, nil
}

// listenRoCE listens over RoCE at the addresses of name, on the same port numbers as iWARP.
func (p *listeners) listenRoCE(ctx context.Context, name string, o *ServerOptions) error {
	cfg := roce.Config{Logger: o.Logger}
	if o.Trace != nil {
		cfg.Trace = o.Trace.Datagram
	}
	for _, beside := range p.rdma {
		at := net.JoinHostPort(name, strconv.Itoa(int(port(beside.Addr()))))
		l, err := roce.Listen(ctx, at, cfg)
		if err != nil {
			return err
		}
		p.rdma = append(p.rdma, rdmaListener{beside.name, l})
	}
	return nil
}

// close closes all listeners.
func (p *listeners) close() {
	for _, l := range []net.Listener{p.rpc, p.raw} {
		if l != nil {
			l.Close()
		}
	}
	for _, l := range p.rdma {
		l.Close()
	}
}

// info returns what clients get to know.
func (p *listeners) info(o *ServerOptions) control.Info {
	return control.Info{
		ChunkedPort: port(p.rdma[0].Addr()),
		InlinePort:  port(p.rdma[1].Addr()),
		DraftPort:   port(p.rdma[2].Addr()),
		RawPort:     port(p.raw.Addr()),
		System:      system(),
		CPUs:        uint32(runtime.GOMAXPROCS(0)),
		Congestion:  o.Sockets.Congestion,
		Memory:      uint64(o.Memory),
	}
}

// port returns the port of a TCP address.
func port(a net.Addr) uint16 { return uint16(a.(*net.TCPAddr).Port) }

// system names the platform of this process.
func system() string { return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version() }
