package nfsdemo_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// An NFS server with a file system in memory, and a client that copies a file to it and back.
func Example() {
	ctx := context.Background()
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/export", FS: mem, Squash: nfsserver.SquashNone}}})
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
	cred, err := (&oncrpc.SysCred{Machine: "example", UID: 0, GID: 0}).Auth()
	if err != nil {
		log.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(ctx, "/export")
	if err != nil {
		log.Fatal(err)
	}
	file, err := c.Create(ctx, root, "hello", nfs3.CreateHow{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Upload(ctx, file.File, strings.NewReader("Hello over RDMA\n"), nfsclient.Transfer{}); err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := c.Download(ctx, file.File, &out, nfsclient.Transfer{}); err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.String())
	// Output: Hello over RDMA
}
