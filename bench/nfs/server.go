package nfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/bench/nfs/memory"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// serve serves an empty file system.
func serve(ctx context.Context, e Ends, s paired.Sockets) (*memory.Server, error) {
	var cfg oncrpc.ServerConfig
	var rdma rpcrdma.Config
	if e.ServerMetrics {
		m := metrics.New()
		cfg.Interceptors = append(cfg.Interceptors, m.ServeCall)
		rdma.Counters = m.RDMA()
	}
	m, err := memory.New(memfs.Config{}, cfg)
	if err != nil {
		return nil, err
	}
	l, err := e.Listen(ctx, s)
	if err != nil {
		return nil, err
	}
	m.Start(ctx, l.Addr().String(), func(ctx context.Context, srv *oncrpc.Server) error {
		return rpcrdma.Serve(ctx, l, srv, rdma)
	})
	return m, nil
}
