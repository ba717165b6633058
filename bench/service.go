package bench

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// rdmaListener is a listener over RDMA.
type rdmaListener struct {
	name string // one of rdmaNames
	transport.Listener
}

// service serves the measured program, on a goroutine for each listener.
type service struct {
	*errgroup.Group // when one ends, all end
	ctx             context.Context
	rpc             *oncrpc.Server
}

// newService returns a service without listeners.
func newService(cfg oncrpc.ServerConfig) (*service, error) {
	s := &service{rpc: oncrpc.NewServer(cfg)}
	return s, s.rpc.Handle(program.New())
}

// start serves over RDMA until ctx ends.
func (s *service) start(ctx context.Context, memory int64, log *slog.Logger, over []rdmaListener) {
	s.Group, s.ctx = errgroup.WithContext(ctx)
	for _, l := range over {
		s.Go(func() error { return rpcrdma.Serve(s.ctx, l, s.rpc, serverConfig(l.name, memory, log)) })
	}
}
