// Package memory sets up an NFS server with a file system in memory, for benchmarks.
//
//	s, err := memory.New(memfs.Config{}, oncrpc.ServerConfig{})
//	s.Start(ctx, addr, serve) // serve accepts connections at addr, on a goroutine
package memory

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Export is the path under which a Server is mounted.
const Export = "/"

// root is who all principals are.
var root vfs.Cred

// Server is an NFS server of a file system in memory, for which everybody is who he says he is, and
// every principal is user 0.
type Server struct {
	FS  *memfs.FS
	RPC *oncrpc.Server

	addr   string
	served chan error
}

// New returns a server that nobody reaches yet. Where rpc has RPCSEC_GSS, the export takes it with
// each service, besides AUTH_SYS.
func New(files memfs.Config, rpc oncrpc.ServerConfig) (*Server, error) {
	fs, err := memfs.New(files)
	if err != nil {
		return nil, err
	}
	rule := nfsserver.Rule{Squash: nfsserver.SquashNone}
	cfg := nfsserver.Config{
		User: func(context.Context, string) (*vfs.Cred, error) { return &root, nil },
	}
	for _, f := range rpc.Flavors {
		if f.Flavor() == oncrpc.FlavorGSS {
			cfg.GSS = true
			rule.Flavors = []mount3.Flavor{
				mount3.FlavorSys, mount3.FlavorKrb5, mount3.FlavorKrb5i, mount3.FlavorKrb5p}
		}
	}
	cfg.Exports = []nfsserver.Export{{Path: Export, FS: fs, Rules: []nfsserver.Rule{rule}}}
	nfs, err := nfsserver.New(cfg)
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
