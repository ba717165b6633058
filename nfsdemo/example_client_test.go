package nfsdemo_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// mount connects to an NFS server over RDMA, such as Linux's at HOST:20049, and returns the files
// below a path that it exports.
func mount(ctx context.Context, addr, path string) (*nfsfs.FS, *redial.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, err
	}
	// A connection that is made again when it is lost.
	conn, err := redial.New(ctx, func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, iwarp.Dialer{}, addr, rpcrdma.Config{})
	}, redial.Config{Wait: time.Minute})
	if err != nil {
		return nil, nil, err
	}
	// The user who calls.
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "example", UID: 0, GID: 0})
	if err != nil {
		return nil, nil, err
	}
	// The export that contains the path. MOUNT is called over RDMA, through rpcbind, or at its
	// usual port.
	root, err := nfsmount.Mount(ctx, conn, path, nfsmount.Config{Host: host, Flavor: cred})
	if err != nil {
		return nil, nil, err
	}
	return nfsfs.New(nfsclient.New(conn, cred), root.Handle, nfsfs.Config{Export: root.Export}), conn, nil
}

// From the name of a server to an fs.FS.
func Example_client() {
	ctx := context.Background()
	addr, stop := serveMemory(ctx)
	defer stop()

	files, conn, err := mount(ctx, addr, "/export")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := files.MkdirAll(ctx, "photos/2026", 0o755); err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(files.IOFS(ctx), ".", func(path string, d fs.DirEntry, err error) error {
		fmt.Println(path)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// .
	// photos
	// photos/2026
}

// serveMemory serves an in-memory file system as /export.
func serveMemory(ctx context.Context) (addr string, stop func()) {
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/export", FS: mem, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		log.Fatal(err)
	}
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
	return l.Addr().String(), func() { srv.Shutdown(ctx) }
}
