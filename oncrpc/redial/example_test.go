package redial_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// serve answers procedure 0 of a program at an address until the returned server is closed.
func serve(addr string) (*oncrpc.Server, net.Addr) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Number: testProgram, Version: 1, Procedures: make([]oncrpc.Procedure, 1)})
	go recordmark.Serve(context.Background(), l, srv, recordmark.Config{})
	return srv, l.Addr()
}

// Calls continue after the server was stopped and started again.
func Example() {
	srv, addr := serve("127.0.0.1:0")
	conn, err := redial.New(context.Background(), func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, addr.String(), recordmark.Config{}) // or rpcrdma.Dial
	}, redial.Config{Wait: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	client := oncrpc.NewClient(conn, testProgram, 1, oncrpc.AuthNone())
	null := &oncrpc.Request{Procedure: 0, MayRepeat: true}
	fmt.Println(client.Do(context.Background(), null))

	srv.Close()
	srv, _ = serve(addr.String())
	fmt.Println(client.Do(context.Background(), null))

	conn.Close()
	<-conn.Done()
	srv.Close()
	// Output:
	// <nil>
	// <nil>
}

// Ping regularly if the server calls this client back, or to notice early that the server is gone.
func ExampleConn_Ping() {
	srv, addr := serve("127.0.0.1:0")
	dial := func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, addr.String(), recordmark.Config{})
	}
	conn, err := redial.New(context.Background(), dial, redial.Config{
		Logger: slog.New(slog.DiscardHandler),
		Connected: func(_ *redial.Conn, conn oncrpc.Transport) {
			fmt.Println("connected to", conn.RemoteAddr().Network())
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	fmt.Println(conn.Ping(ctx, testProgram, 1))
	cancel()

	conn.Close()
	<-conn.Done()
	srv.Close()
	// Unordered output:
	// connected to tcp
	// <nil>
}
