package gateway_test

import (
	"context"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A program that is served over RDMA only is called over TCP.
func Example() {
	ctx := context.Background()
	const program, version, double = 0x20000001, 1, 1

	// The server.
	fabric := loopback.New()
	rdma, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		panic(err)
	}
	server := oncrpc.NewServer(oncrpc.ServerConfig{})
	server.Handle(oncrpc.Program{Name: "DOUBLE", Number: program, Version: version, Procedures: []oncrpc.Procedure{
		double: {Name: "DOUBLE", Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Uint32(2 * c.Args.Uint32())
			return nil
		}},
	}})
	go rpcrdma.Serve(ctx, rdma, server, rpcrdma.Config{})

	// The gateway.
	g, err := gateway.New(gateway.Config{Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{})
	}})
	if err != nil {
		panic(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	front := oncrpc.NewServer(oncrpc.ServerConfig{Forward: g.Forward})
	served := make(chan error)
	go func() { served <- recordmark.Serve(ctx, tcp, front, recordmark.Config{}) }()

	// The client, which knows nothing of RDMA.
	conn, err := recordmark.Dial(ctx, tcp.Addr().String(), recordmark.Config{})
	if err != nil {
		panic(err)
	}
	var n number = 21
	if err := oncrpc.NewClient(conn, program, version, oncrpc.AuthNone()).Call(ctx, double, &n, &n); err != nil {
		panic(err)
	}
	fmt.Println(n)

	conn.Close()
	front.Shutdown(ctx)
	<-served
	g.Close()
	server.Shutdown(ctx)
	s := g.Stats()
	fmt.Println(s.Calls, "call,", s.Replies, "reply")
	// Output:
	// 42
	// 1 call, 1 reply
}

type number uint32

func (n *number) MarshalXDR(e *xdr.Encoder)   { e.Uint32(uint32(*n)) }
func (n *number) UnmarshalXDR(d *xdr.Decoder) { *n = number(d.Uint32()) }
