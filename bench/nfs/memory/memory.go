// Package memory is an NFS server of a file system in memory, as benchmarks want it.
package memory

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Export is the path under which a Server is mounted.
const Export = "/"

// Server is an NFS server of a file system in memory, for which everybody is who he says he is.
type Server struct {
	FS  *memfs.FS
	RPC *oncrpc.Server

	addr   string
	served chan error
}

// New returns a server that nobody reaches yet.
func New(files memfs.Config, rpc oncrpc.ServerConfig) (*Server, error) {
	fs, err := memfs.New(files)
	if err != nil {
		return nil, err
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: Export, FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}},
	})
	if err != nil {
		return nil, err
	}
	m := &Server{FS: fs, RPC: oncrpc.NewServer(rpc)}
	return m, m.RPC.Handle(nfs.Programs()...)
}

// Start has serve, which accepts connections at addr, run until Close.
func (m *Server) Start(ctx context.Context, addr string, serve func(context.Context, *oncrpc.Server) error) {
	m.addr, m.served = addr, make(chan error, 1)
	go func() { m.served <- serve(context.WithoutCancel(ctx), m.RPC) }()
}

// Addr is that of Start.
func (m *Server) Addr() string { return m.addr }

// Close ends serving.
func (m *Server) Close() error {
	err := m.RPC.Shutdown(context.Background())
	if served := <-m.served; !errors.Is(served, oncrpc.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
