package rpcbind_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// Find the port of NFS over RDMA. Ask the host's rpcbind first, then a server at port 111 of its
// RDMA address.
func ExampleFindPort() {
	ctx := context.Background()
	port, err := rpcbind.FindPort(ctx, 100003, 3, rpcbind.NetidRDMA,
		rpcbind.Place{Name: "rpcbind", Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			return recordmark.Dial(ctx, "server:111", recordmark.Config{})
		}},
		rpcbind.Place{Name: "rpcbind over RDMA", Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			return rpcrdma.Dial(ctx, iwarp.Dialer{}, "server:111", rpcrdma.Config{})
		}},
	)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, fmt.Sprintf("server:%d", port), rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
}
