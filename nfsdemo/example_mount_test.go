package nfsdemo_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// A server that Linux can mount: NFS over iWARP, and MOUNT over TCP, as Linux requires. With the
// addresses ":20049" and ":20048", and siw on the client's network interface:
//
//	mount -t nfs -o vers=3,rdma,port=20049,mountport=20048,mountproto=tcp,nolock,noresvport \
//		HOST:/export /mnt
func Example_linux() {
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
	defer srv.Shutdown(ctx)

	rdma, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, rdma, srv, rpcrdma.Config{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go recordmark.Serve(ctx, tcp, srv, recordmark.Config{})

	// In place of Linux, our own client.
	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, rdma.Addr().String(), rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	root, err := nfsclient.New(conn, oncrpc.AuthNone()).Mount(ctx, "/export")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("mounted, root handle of", root.Len(), "bytes")
	// Output: mounted, root handle of 32 bytes
}
