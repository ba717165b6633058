package nfsdemo

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// overGateway serves srv over RDMA until the test ends. It returns a connection over TCP to a
// gateway in front of srv.
func overGateway(tb testing.TB, srv *oncrpc.Server) oncrpc.Transport {
	tb.Helper()
	ctx := context.Background()
	rdma, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, iwarp.Dialer{}, rdma.Addr().String(), rpcrdma.Config{})
	}})
	if err != nil {
		tb.Fatal(err)
	}
	front := oncrpc.NewServer(oncrpc.ServerConfig{Forward: g.Forward})
	served := make(chan error, 2)
	go func() { served <- rpcrdma.Serve(ctx, rdma, srv, rpcrdma.Config{}) }()
	go func() { served <- recordmark.Serve(ctx, tcp, front, recordmark.Config{}) }()
	conn, err := recordmark.Dial(ctx, tcp.Addr().String(), recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		<-conn.Done()
		front.Shutdown(ctx)
		g.Close()
		srv.Shutdown(ctx)
		for range 2 {
			if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
				tb.Error(err)
			}
		}
	})
	return conn
}
