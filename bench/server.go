package bench

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// ServerOptions configures a server.
type ServerOptions struct {
	// Listen is where it listens for RPC over TCP, "host:port". The next four ports are for the
	// other transports; with port 0 it takes any.
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

// Serve serves until ctx ends. It calls ready with its address when it listens. It measures
// nobody's rights: whoever reaches it can use the memory and the CPU that it may use.
func Serve(ctx context.Context, o ServerOptions, ready func(addr string)) error {
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	p, err := o.listen(ctx)
	if err != nil {
		return err
	}
	s, err := newService(oncrpc.ServerConfig{Logger: o.Logger, MaxConns: 2 * MaxConns})
	if err == nil {
		err = s.rpc.Handle(control.New(p.info(&o), s.rpc))
	}
	defer s.rpc.Close()
	if err != nil {
		p.close()
		return err
	}
	s.start(ctx, o.Memory, o.Logger, p.rdma)
	s.Go(func() error {
		return recordmark.Serve(s.ctx, p.rpc, s.rpc, recordmark.Config{
			MaxInFlight: MaxInFlight, MaxRecord: program.MaxMessage, Memory: int(messageMemory(o.Memory)), Logger: o.Logger,
		})
	})
	s.Go(func() error { return raw.Serve(s.ctx, p.raw, rawConns) })
	ready(p.rpc.Addr().String())
	if err := s.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
