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
	// Listen is the address for RPC over TCP, "host:port". The next four ports are for the other
	// transports. With port 0 the system chooses all of them.
	Listen  string
	Sockets host.Sockets
	// RoCE makes it listen over RoCE too, at the addresses of Listen.
	RoCE bool
	// Memory limits the bytes of calls under way; 0 means 1 GiB.
	Memory int64
	Logger *slog.Logger // nil means slog.Default()
	// Trace, if not nil, records what is sent and received, except over raw TCP.
	Trace *trace.Writer
}

// rawConns limits the connections over raw TCP; more must wait.
const rawConns = 64

// Serve serves until ctx ends. It calls ready with its address once it listens.
//
// It does not check who calls: anybody who reaches it can use its memory, up to the limit, and its
// CPU time.
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
			MaxInFlight: MaxInFlight, MaxRecord: program.MaxMessage,
			Memory: int(messageMemory(o.Memory)), Logger: o.Logger,
		})
	})
	s.Go(func() error { return raw.Serve(s.ctx, p.raw, rawConns) })
	ready(p.rpc.Addr().String())
	if err := s.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
