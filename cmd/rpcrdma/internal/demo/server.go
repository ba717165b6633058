package demo

import (
	"context"
	"errors"
	"net/netip"
	"os"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// server is an NFS server in this process.
type server struct {
	dialer transport.Dialer
	addr   string
	ends   ends
	stop   func() error
}

// startServer starts a server for that many bytes of files.
func startServer(ctx context.Context, p reach.Provider, capacity int64, cfg rpcrdma.Config) (*server, error) {
	mem, err := memfs.New(memfs.Config{Capacity: capacity, RootUID: uint32(os.Getuid()), RootGID: uint32(os.Getgid())})
	if err != nil {
		return nil, err
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: mem,
		Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		return nil, err
	}
	listener, dialer, err := p(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{dialer: dialer, addr: listener.Addr().String()}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{ConnBegan: s.ends.note})
	programs := append(nfs.Programs(), confproto.New(confproto.Config{}))
	if a, ok := listener.Addr().(interface{ AddrPort() netip.AddrPort }); ok {
		programs = append(programs,
			rpcbind.Programs(rpcbind.Mappings(nfs3.Program, nfs3.Version, rpcbind.NetidRDMA, a.AddrPort()))...)
	}
	if err := rpc.Handle(programs...); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.WithoutCancel(ctx), listener, rpc, cfg) }()
	s.stop = func() error {
		err := rpc.Shutdown(context.WithoutCancel(ctx))
		if end := <-served; !errors.Is(end, oncrpc.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}
	return s, nil
}

// dial connects to a server. end closes the connection.
func dial(ctx context.Context, d transport.Dialer, addr string, cfg rpcrdma.Config) (*rpcrdma.Conn, func(), error) {
	conn, err := rpcrdma.Dial(ctx, d, addr, cfg)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() {
		conn.Close()
		<-conn.Done()
	}, nil
}

// mount returns the files of the server as the user of this process sees them.
func mount(ctx context.Context, conn *rpcrdma.Conn) (*nfsfs.FS, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{
		Machine: host[:min(len(host), oncrpc.MaxMachineName)],
		UID:     uint32(os.Getuid()),
		GID:     uint32(os.Getgid()),
	})
	if err != nil {
		return nil, err
	}
	client := nfsclient.New(conn, cred)
	root, err := client.Mount(ctx, "/")
	if err != nil {
		return nil, err
	}
	// Until COMMIT, both client and server hold the data in memory.
	return nfsfs.New(client, root, nfsfs.Config{Export: "/", MaxUncommitted: 16 << 20}), nil
}
