package nfsdemo_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"testing/fstest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/iofs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// Any fs.FS, such as an embed.FS or a zip.Reader, can be exported.
func Example_readOnly() {
	ctx := context.Background()
	files := fstest.MapFS{
		"readme":       {Data: []byte("read me\n")},
		"doc/manual":   {Data: []byte("chapter 1\n")},
		"doc/pictures": {Mode: fs.ModeDir},
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/export", FS: iofs.New(files, iofs.Config{})},
	}})
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	defer srv.Shutdown(ctx)
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})

	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := nfsclient.New(conn, oncrpc.AuthNone())
	root, err := client.Mount(ctx, "/export")
	if err != nil {
		log.Fatal(err)
	}
	mounted := nfsfs.New(client, root, nfsfs.Config{Export: "/export"})
	err = fs.WalkDir(mounted.IOFS(ctx), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(mounted.IOFS(ctx), p)
		fmt.Printf("%s: %s", p, b)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Create(ctx, root, "letter", nfs3.CreateHow{})
	fmt.Println(err)
	// Output:
	// doc/manual: chapter 1
	// readme: read me
	// nfs: CREATE letter: NFS3ERR_ROFS
}
