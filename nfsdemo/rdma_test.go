package nfsdemo

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an NFS server with a file, and a client, over RDMA within the process.
type rig struct {
	fs     *memfs.FS
	client *nfsclient.Client
	conn   *rpcrdma.Conn
	file   nfs3.FH
}

// root is the credential of the tests.
var root = &oncrpc.SysCred{Machine: "test"}

// provider makes the two ends of a provider, and a function that checks for leaks.
type provider func(tb testing.TB) (transport.Listener, transport.Dialer, func())

// providers are those that the tests run over.
var providers = map[string]provider{
	"loopback": func(tb testing.TB) (transport.Listener, transport.Dialer, func()) {
		fabric := loopback.New()
		l, err := fabric.Listen("", loopback.Config{})
		if err != nil {
			tb.Fatal(err)
		}
		return l, fabric.Dialer(loopback.Config{}), func() {
			if n, bytes := fabric.Domain().Allocated(); n != 0 {
				tb.Errorf("%d pieces of provider memory leaked, %d bytes", n, bytes)
			}
		}
	},
	"iwarp": func(tb testing.TB) (transport.Listener, transport.Dialer, func()) {
		l, err := iwarp.Listen(tb.Context(), "127.0.0.1:0", iwarp.Config{})
		if err != nil {
			tb.Fatal(err)
		}
		return l, iwarp.Dialer{}, func() {}
	},
	"sctp": func(tb testing.TB) (transport.Listener, transport.Dialer, func()) {
		l, d := sctprig.Listen(tb, iwarp.Config{}, sctp.Config{})
		return l, d, func() {}
	},
}

// newServer returns an RPC server of a file system, exported as "/".
func newServer(tb testing.TB, fs vfs.FS) *oncrpc.Server {
	tb.Helper()
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	return srv
}

// connect serves srv over RDMA until the test ends, and returns a connection to it.
func (between provider) connect(tb testing.TB, srv *oncrpc.Server) *rpcrdma.Conn {
	tb.Helper()
	ctx := context.Background()
	l, dialer, look := between(tb)
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{}) }()
	conn, err := rpcrdma.Dial(ctx, dialer, l.Addr().String(), rpcrdma.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		<-conn.Done()
		srv.Shutdown(ctx)
		<-served
		look()
	})
	return conn
}

func newRig(tb testing.TB, between provider, size int) *rig {
	tb.Helper()
	ctx := context.Background()
	r := &rig{}
	var err error
	if r.fs, err = memfs.New(memfs.Config{}); err != nil {
		tb.Fatal(err)
	}
	r.conn = between.connect(tb, newServer(tb, r.fs))
	cred, err := oncrpc.AuthSys(*root)
	if err != nil {
		tb.Fatal(err)
	}
	r.client = nfsclient.New(r.conn, cred)
	dir, err := r.client.Mount(ctx, "/")
	if err != nil {
		tb.Fatal(err)
	}
	o, err := r.client.Create(ctx, dir, "file", nfs3.CreateHow{})
	if err != nil {
		tb.Fatal(err)
	}
	r.file = o.File
	p := make([]byte, 1<<20)
	for off := 0; off < size; off += len(p) {
		if _, err := r.client.Write(ctx, r.file, uint64(off), p, nfs3.Unstable); err != nil {
			tb.Fatal(err)
		}
	}
	return r
}
