package rpcrdma_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Text is the argument and the result of procedure 1 of program 400000: opaque data of any size.
type Text []byte

func (t *Text) MarshalXDR(e *xdr.Encoder)   { e.BulkBytes(*t, nil) }
func (t *Text) UnmarshalXDR(d *xdr.Decoder) { *t = d.BulkInto(*t) }

// ReplyRoom names the buffer where a result lands. There is little else in the reply.
func (t *Text) ReplyRoom(results [][]byte) (int, [][]byte) { return 0, append(results, *t) }

// reverse turns the argument round.
func reverse(ctx context.Context, c *oncrpc.Call) error {
	in, err := c.Args.Bulk(1 << 20).Bytes(ctx) // by RDMA Read, if it is long
	if err != nil {
		return err
	}
	out := make([]byte, len(in))
	for i, b := range in {
		out[len(in)-1-i] = b
	}
	c.Results.BulkBytes(out, nil) // by RDMA Write, if it is long
	return nil
}

// A custom RPC program, served and called over RDMA.
func Example() {
	ctx := context.Background()
	fabric := loopback.New() // or a provider that crosses a network
	l, err := fabric.Listen("reverser", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	err = srv.Handle(oncrpc.Program{Number: 400000, Version: 1, Procedures: []oncrpc.Procedure{1: {Handler: reverse}}})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "reverser", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := oncrpc.NewClient(conn, 400000, 1, oncrpc.AuthNone())
	text, reply := Text("AMDR revo CPR"), make(Text, 13)
	err = client.Call(ctx, 1, &text, &reply)
	fmt.Println(string(reply), err)
	// Output: RPC over RDMA <nil>
}
