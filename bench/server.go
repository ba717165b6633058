package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// ServerOptions configures a server.
type ServerOptions struct {
	// Listen is where it listens for RPC over TCP, "host:port". The next four ports are for the other transports; with port 0 it takes any.
	Listen  string
	Sockets host.Sockets
	// Memory bounds the bytes that calls under way take; 0 means 1 GiB.
	Memory int64
	Logger *slog.Logger // nil means slog.Default()
}

// Serve serves until ctx ends. It calls ready with its address when it listens. It measures nobody's rights: whoever reaches it can use
// the memory and the CPU that it may use.
func Serve(ctx context.Context, o ServerOptions, ready func(addr string)) error {
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	p, err := o.listen(ctx)
	if err != nil {
		return err
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: o.Logger})
	defer srv.Close()
	srv.Handle(program.New(), control.New(p.info(&o), srv))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, 5)
	serve := func(i int, f func() error) {
		wg.Go(func() {
			defer cancel() // with one of them, all
			errs[i] = f()
		})
	}
	for i, l := range []*iwarp.Listener{p.chunked, p.inline, p.draft} {
		cfg := serverConfig(i == 1, i == 2, o.Memory, o.Logger)
		serve(i, func() error { return rpcrdma.Serve(ctx, l, srv, cfg) })
	}
	serve(3, func() error {
		return recordmark.Serve(ctx, p.rpc, srv, recordmark.Config{
			MaxInFlight: MaxInFlight, MaxRecord: program.MaxMessage, Memory: int(o.Memory), Logger: o.Logger,
		})
	})
	serve(4, func() error { return raw.Serve(ctx, p.raw) })
	ready(p.rpc.Addr().String())
	wg.Wait()
	for _, err := range errs {
		if !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// serverConfig is the configuration of a server over RDMA.
func serverConfig(inline, draft bool, memory int64, log *slog.Logger) rpcrdma.Config {
	cfg := rpcrdma.Config{
		Logger:       log,
		Credits:      MaxInFlight,
		MaxMessage:   program.MaxMessage,
		ConnMemory:   memory,
		ServerMemory: memory,
	}
	if inline || draft {
		cfg.InlineSend, cfg.InlineRecv = rpcrdma.MaxInline, rpcrdma.MaxInline
	}
	if draft {
		cfg.Dialect, cfg.Align = rpcrdma.Draft, program.Page
	}
	return cfg
}

// listeners are what a server listens on.
type listeners struct {
	rpc, raw               net.Listener
	chunked, inline, draft *iwarp.Listener
}

// listen listens on five ports.
func (o *ServerOptions) listen(ctx context.Context) (_ *listeners, err error) {
	name, service, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || port > 1<<16-5 {
		return nil, fmt.Errorf("bench: listen on %s: the port is a number up to %d: the next four are used, too", o.Listen, 1<<16-5)
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
	if p.rpc, err = lc.Listen(ctx, "tcp", next()); err != nil {
		return nil, err
	}
	cfg := iwarp.Config{
		CRC:     iwarp.CRCOff, // it is on if the peer wants it
		Control: o.Sockets.Control,
		Logger:  o.Logger,
		Choose: func(_ net.Addr, r *mpa.Request, c *mpa.Config) error {
			if r.Markers() {
				c.Markers = mpa.MarkersOn // in both directions
			}
			return nil
		},
	}
	for _, l := range []**iwarp.Listener{&p.chunked, &p.inline, &p.draft} {
		if *l, err = iwarp.Listen(ctx, next(), cfg); err != nil {
			return nil, err
		}
	}
	if p.raw, err = lc.Listen(ctx, "tcp", next()); err != nil {
		return nil, err
	}
	return p, nil
}

// close closes what nobody serves.
func (p *listeners) close() {
	for _, l := range []net.Listener{p.rpc, p.raw} {
		if l != nil {
			l.Close()
		}
	}
	for _, l := range []*iwarp.Listener{p.chunked, p.inline, p.draft} {
		if l != nil {
			l.Close()
		}
	}
}

// info is what clients are told.
func (p *listeners) info(o *ServerOptions) control.Info {
	port := func(a net.Addr) uint16 { return uint16(a.(*net.TCPAddr).Port) }
	return control.Info{
		Chunked:    port(p.chunked.Addr()),
		Inline:     port(p.inline.Addr()),
		Draft:      port(p.draft.Addr()),
		Raw:        port(p.raw.Addr()),
		System:     system(),
		CPUs:       uint32(runtime.GOMAXPROCS(0)),
		Congestion: o.Sockets.Congestion,
		Memory:     uint64(o.Memory),
	}
}

// system says what this process runs on.
func system() string { return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version() }
