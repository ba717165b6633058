package rpcrdma_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Line is the argument and the result of procedure 1 of program 400000.
type Line string

func (l *Line) MarshalXDR(e *xdr.Encoder)   { e.String(string(*l), 80) }
func (l *Line) UnmarshalXDR(d *xdr.Decoder) { *l = Line(d.String(80)) }

func greet(_ context.Context, c *oncrpc.Call) error {
	c.Results.String("Hello, "+c.Args.String(40), 80)
	return nil
}

func Example_iwarp() {
	ctx := context.Background()
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{}) // ":20049" for other hosts
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	procedures := []oncrpc.Procedure{1: {Handler: greet}}
	srv.Handle(oncrpc.Program{Number: 400000, Version: 1, Procedures: procedures})
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, l.Addr().String(), rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	in, out := Line("RDMA"), Line("")
	err = oncrpc.NewClient(conn, 400000, 1, oncrpc.AuthNone()).Call(ctx, 1, &in, &out)
	fmt.Println(out, err)
	// Output: Hello, RDMA <nil>
}
