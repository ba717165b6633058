package nfsfs_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// exampleServer starts an NFS server in this process and connects to it.
func exampleServer(ctx context.Context) (files *nfsfs.FS, stop func()) {
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/export", FS: mem, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	fabric := loopback.New()
	l, err := fabric.Listen("nfs", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "nfs", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "example"})
	if err != nil {
		log.Fatal(err)
	}
	client := nfsclient.New(conn, cred)
	root, err := client.Mount(ctx, "/export")
	if err != nil {
		log.Fatal(err)
	}
	return nfsfs.New(client, root, nfsfs.Config{Export: "/export"}), func() {
		conn.Close()
		srv.Shutdown(ctx)
	}
}

// Write a file and read it back.
func Example() {
	ctx := context.Background()
	files, stop := exampleServer(ctx)
	defer stop()

	up, err := files.OpenFile(ctx, "greeting", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := up.ReadFrom(strings.NewReader("Hello, server\n")); err != nil {
		log.Fatal(err)
	}
	if err := up.Close(); err != nil { // the data is safe only after this
		log.Fatal(err)
	}

	down, err := files.Open(ctx, "greeting")
	if err != nil {
		log.Fatal(err)
	}
	defer down.Close()
	if _, err := down.WriteTo(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output: Hello, server
}

// Use a server's files with functions that take an fs.FS.
func ExampleFS_IOFS() {
	ctx := context.Background()
	files, stop := exampleServer(ctx)
	defer stop()
	if err := files.MkdirAll(ctx, "src/cmd", 0o755); err != nil {
		log.Fatal(err)
	}
	if err := files.Symlink(ctx, "src/cmd", "bin"); err != nil {
		log.Fatal(err)
	}
	err := fs.WalkDir(files.IOFS(ctx), ".", func(path string, d fs.DirEntry, err error) error {
		fmt.Println(d.Type(), path)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// d--------- .
	// L--------- bin
	// d--------- src
	// d--------- src/cmd
}
