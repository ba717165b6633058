package nfsdemo_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// An NFS server with an in-memory file system, and a client that copies a file to it and back.
func Example() {
	ctx := context.Background()
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
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "nfs", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "example", UID: 0, GID: 0})
	if err != nil {
		log.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(ctx, "/export")
	if err != nil {
		log.Fatal(err)
	}
	files := nfsfs.New(c, root, nfsfs.Config{Export: "/export"})
	file, err := files.Create(ctx, "hello")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := file.ReadFrom(strings.NewReader("Hello over RDMA\n")); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil { // waits until the server has the data on stable storage
		log.Fatal(err)
	}
	out, err := fs.ReadFile(files.IOFS(ctx), "hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", out)
	// Output: Hello over RDMA
}
