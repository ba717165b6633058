// Package memory sets up an NFS server with a file system in memory, for benchmarks.
//
//	s, err := memory.New(memfs.Config{}, oncrpc.ServerConfig{})
//	s.Start(ctx, addr, serve) // serve accepts connections at addr, on a goroutine
package memory

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Export is the path under which a Server is mounted.
const Export = "/"

// root is the user of all principals.
var root vfs.Cred

// Server is an NFS server with a file system in memory. It believes every AUTH_SYS credential, and
// maps every Kerberos principal to user 0.
type Server struct {
	FS  *memfs.FS
	RPC *oncrpc.Server

	addr   string
	served chan error
}

// New returns a server that does not listen yet. If rpc has RPCSEC_GSS, the export accepts it with
// each service, as well as AUTH_SYS.
func New(files memfs.Config, rpc oncrpc.ServerConfig) (*Server, error) {
	fs, err := memfs.New(files)
	if err != nil {
		return nil, err
	}
	rule := nfsserver.Rule{Squash: nfsserver.SquashNone}
	cfg := nfsserver.Config{
		User: func(context.Context, net.Addr, string) (*vfs.Cred, error) { return &root, nil },
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

// Start runs serve on a goroutine until Close. serve must accept connections at addr.
func (m *Server) Start(ctx context.Context, addr string, serve func(context.Context, *oncrpc.Server) error) {
	m.addr, m.served = addr, make(chan error, 1)
	go func() { m.served <- serve(context.WithoutCancel(ctx), m.RPC) }()
}

// Addr returns the address given to Start.
func (m *Server) Addr() string { return m.addr }

// Close stops serving.
func (m *Server) Close() error {
	err := m.RPC.Shutdown(context.Background())
	if served := <-m.served; !errors.Is(served, oncrpc.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
