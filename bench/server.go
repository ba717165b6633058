package bench

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// ServerOptions configures a server.
type ServerOptions struct {
	// Listen is where it listens for RPC over TCP, "host:port". The next four ports are for the other transports; with port 0 it takes any.
	Listen  string
	Sockets host.Sockets
	// RoCE has it listen over RoCE, too, at the addresses of Listen.
	RoCE bool
	// Memory bounds the bytes that calls under way take; 0 means 1 GiB.
	Memory int64
	Logger *slog.Logger // nil means slog.Default()
	// Trace, if not nil, has what is sent and received, but over raw TCP.
	Trace *trace.Writer
}

// rawConns bounds the connections over raw TCP; others wait.
const rawConns = 64

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
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: o.Logger, MaxConns: 2 * MaxConns})
	defer srv.Close()
	if err := srv.Handle(program.New(), control.New(p.info(&o), srv)); err != nil {
		return err
	}

	g, ctx := errgroup.WithContext(ctx) // when one of them ends, all do
	for name, l := range map[string]*iwarp.Listener{chunkedListener: p.chunked, inlineListener: p.inline, draftListener: p.draft} {
		g.Go(func() error { return rpcrdma.Serve(ctx, l, srv, serverConfig(name, o.Memory, o.Logger)) })
	}
	for name, l := range p.roce {
		g.Go(func() error { return rpcrdma.Serve(ctx, l, srv, serverConfig(name, o.Memory, o.Logger)) })
	}
	g.Go(func() error {
		return recordmark.Serve(ctx, p.rpc, srv, recordmark.Config{
			MaxInFlight: MaxInFlight, MaxRecord: program.MaxMessage, Memory: int(messageMemory(o.Memory)), Logger: o.Logger,
		})
	})
	g.Go(func() error { return raw.Serve(ctx, p.raw, rawConns) })
	ready(p.rpc.Addr().String())
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
