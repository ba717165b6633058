package oncrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// End a server when its pending calls are answered, or after ten seconds. A real program calls
// Shutdown when the context of signal.NotifyContext ends.
func ExampleServer_Shutdown() {
	ctx := context.Background()
	began, goOn := make(chan struct{}), make(chan struct{})
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Number: 0x20001236, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Handler: func(context.Context, *oncrpc.Call) error {
			close(began)
			<-goOn
			return nil
		}},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(ctx, l, srv, recordmark.Config{}) }()

	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	called := make(chan error, 1)
	go func() {
		called <- oncrpc.NewClient(conn, 0x20001236, 1, oncrpc.AuthNone()).Call(ctx, 1, nil, nil)
	}()
	<-began

	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	go close(goOn)
	fmt.Println("shut down:", srv.Shutdown(limited))
	fmt.Println("the call under way:", <-called)
	fmt.Println("served:", errors.Is(<-served, oncrpc.ErrServerClosed))
	// Output:
	// shut down: <nil>
	// the call under way: <nil>
	// served: true
}
