package nfsdemo_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// noTemp is a file system that refuses temporary files.
type noTemp struct{ vfs.FS }

func (fs noTemp) Create(ctx context.Context, c *vfs.Cred, dir nfs3.FH, name string, how *nfs3.CreateHow) (vfs.Object, nfs3.WccData, error) {
	if strings.HasSuffix(name, ".tmp") {
		return vfs.Object{}, nfs3.WccData{}, nfs3.ErrAcces
	}
	return fs.FS.Create(ctx, c, dir, name, how)
}

// A custom file system that embeds another.
func Example_fileSystem() {
	ctx := context.Background()
	// everybody may make files in the root, as in /tmp
	mem, err := memfs.New(memfs.Config{RootMode: 0o1777})
	if err != nil {
		log.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/export", FS: noTemp{mem}}}})
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
	for _, name := range []string{"letter", "letter.tmp"} {
		_, err := client.Create(ctx, root, name, nfs3.CreateHow{Mode: nfs3.Guarded})
		fmt.Println(name, err)
	}
	// Output:
	// letter <nil>
	// letter.tmp nfs: CREATE letter.tmp: NFS3ERR_ACCES
}
