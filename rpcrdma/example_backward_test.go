package rpcrdma_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// A server that calls its client back, on the client's connection, while it executes a call of it
// (RFC 8167).
func ExampleConn_Serve() {
	const program, version, subscribe, notify = 400001, 1, 1, 1
	ctx := context.Background()
	server := oncrpc.NewServer(oncrpc.ServerConfig{})
	server.Handle(oncrpc.Program{Number: program, Version: version, Procedures: []oncrpc.Procedure{
		subscribe: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
			back := oncrpc.NewClient(c.Conn, program+1, version, oncrpc.AuthNone())
			return back.Call(ctx, notify, nil, nil)
		}},
	}})
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, server, rpcrdma.Config{})
	defer server.Shutdown(ctx)

	notified := oncrpc.NewServer(oncrpc.ServerConfig{})
	notified.Handle(oncrpc.Program{Number: program + 1, Version: version, Procedures: []oncrpc.Procedure{
		notify: {Handler: func(context.Context, *oncrpc.Call) error {
			fmt.Println("notified")
			return nil
		}},
	}})
	defer notified.Shutdown(ctx)
	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	conn.Serve(notified) // before the first call
	err = oncrpc.NewClient(conn, program, version, oncrpc.AuthNone()).Call(ctx, subscribe, nil, nil)
	fmt.Println("subscribed", err)
	// Output:
	// notified
	// subscribed <nil>
}
