package nfs

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
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

func serve(ctx context.Context, p rdma.Provider, s paired.Sockets) (*server, error) {
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		return nil, err
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: export, FS: fs, Squash: nfsserver.SquashNone}},
	})
	if err != nil {
		return nil, err
	}
	l, err := p.Listen(ctx, s)
	if err != nil {
		return nil, err
	}
	sv := &server{listener: l, rpc: oncrpc.NewServer(oncrpc.ServerConfig{}), served: make(chan error, 1)}
	if err := sv.rpc.Handle(nfs.Programs()...); err != nil {
		return nil, err
	}
	go func() { sv.served <- rpcrdma.Serve(context.WithoutCancel(ctx), l, sv.rpc, rpcrdma.Config{}) }()
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
