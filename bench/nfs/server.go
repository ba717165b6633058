package nfs

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// export is the path under which the file system is mounted.
const export = "/"

// server serves an empty file system.
type server struct {
	listener transport.Listener
	rpc      *oncrpc.Server
	served   chan error
}

func serve(ctx context.Context, e Ends, s paired.Sockets) (*server, error) {
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		return nil, err
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: export, FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}},
	})
	if err != nil {
		return nil, err
	}
	l, err := e.Listen(ctx, s)
	if err != nil {
		return nil, err
	}
	var cfg oncrpc.ServerConfig
	var rdma rpcrdma.Config
	if e.ServerMetrics {
		m := metrics.New()
		cfg.Interceptors = append(cfg.Interceptors, m.ServeCall)
		rdma.Counters = m.RDMA()
	}
	sv := &server{listener: l, rpc: oncrpc.NewServer(cfg), served: make(chan error, 1)}
	if err := sv.rpc.Handle(nfs.Programs()...); err != nil {
		return nil, err
	}
	go func() { sv.served <- rpcrdma.Serve(context.WithoutCancel(ctx), l, sv.rpc, rdma) }()
	return sv, nil
}

func (s *server) Addr() string { return s.listener.Addr().String() }

// Close ends serving.
func (s *server) Close() error {
	err := s.rpc.Shutdown(context.Background())
	if served := <-s.served; !errors.Is(served, oncrpc.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
