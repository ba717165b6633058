package confproto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// Two ends that say nothing at setup begin with 1024 bytes inline, and agree on more.
func Example() {
	ctx := context.Background()
	fabric := loopback.New() // or a provider that crosses a network
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(confproto.New(confproto.Config{MaxCall: 16384}))
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{NoPrivateData: true})
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{NoPrivateData: true})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(conn.Inline())
	if _, err := confproto.Configure(ctx, conn, confproto.Options{MaxCall: 65536, MaxReply: 8192}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(conn.Inline())
	// Output:
	// 1024 1024
	// 16384 8192
}
