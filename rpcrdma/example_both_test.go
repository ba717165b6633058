package rpcrdma_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// One server answers over RDMA and over TCP. 100,000 bytes travel by RDMA Read and RDMA Write over
// the one, and in the stream over the other.
func Example_bothTransports() {
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	err := srv.Handle(oncrpc.Program{Number: 400000, Version: 1,
		Procedures: []oncrpc.Procedure{1: {Handler: reverse}}})
	if err != nil {
		log.Fatal(err)
	}
	overRDMA, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	overTCP, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, overRDMA, srv, rpcrdma.Config{})
	go recordmark.Serve(ctx, overTCP, srv, recordmark.Config{})
	defer srv.Shutdown(ctx) // ends both

	rdma, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, overRDMA.Addr().String(), rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer rdma.Close()
	tcp, err := recordmark.Dial(ctx, overTCP.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer tcp.Close()

	for _, conn := range []oncrpc.Transport{rdma, tcp} {
		client := oncrpc.NewClient(conn, 400000, 1, oncrpc.AuthNone())
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		text, reply := Text(bytes.Repeat([]byte("ab"), 50_000)), make(Text, 100_000)
		err := client.Call(limited, 1, &text, &reply)
		cancel()
		fmt.Printf("%d bytes, %s..., %v\n", len(reply), reply[:6], err)
	}
	// Output:
	// 100000 bytes, bababa..., <nil>
	// 100000 bytes, bababa..., <nil>
}
