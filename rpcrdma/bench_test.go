package rpcrdma_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// benchProgram has procedures that return, and that take, bulk data without looking at it.
const benchProgram = 400_001

type benchArgs struct {
	n    uint32
	data []byte
}

func (a *benchArgs) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(a.n)
	e.BulkBytes(a.data, nil)
}

type benchResult struct{ p []byte }

func (r *benchResult) UnmarshalXDR(d *xdr.Decoder) { d.Bulk(len(r.p)).CopyTo(r.p) }

func benchServer(source, sink []byte) *oncrpc.Server {
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	sinks := make(chan [][]byte, 256)
	for range cap(sinks) {
		sinks <- [][]byte{sink}
	}
	srv.Handle(oncrpc.Program{Number: benchProgram, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Name: "READ", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			n := c.Args.Uint32()
			c.Args.Bulk(0)
			c.Results.BulkBytes(source[:n], nil)
			return nil
		}},
		2: {Name: "WRITE", NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
			c.Args.Uint32()
			b := c.Args.Bulk(len(sink))
			dst := <-sinks
			defer func() { sinks <- dst }()
			return b.FetchInto(ctx, dst)
		}},
	}})
	return srv
}

func BenchmarkCall(b *testing.B) {
	const largest = 1 << 20
	source, sink := make([]byte, largest), make([]byte, largest)
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		b.Fatal(err)
	}
	srv := benchServer(source, sink)
	served := make(chan error)
	go func() { served <- rpcrdma.Serve(context.Background(), l, srv, rpcrdma.Config{}) }()
	conn, err := rpcrdma.Dial(context.Background(), f.Dialer(loopback.Config{}), "server", rpcrdma.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		conn.Close()
		srv.Shutdown(context.Background())
		<-served
	}()
	c := oncrpc.NewClient(conn, benchProgram, 1, oncrpc.AuthNone())
	ctx := context.Background()
	run := func(name string, bytes int, op func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				if err := op(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}

	b.Run("channels", func(b *testing.B) { // the yardstick of NULL
		to, from := make(chan int), make(chan int)
		go func() {
			for v := range to {
				from <- v
			}
		}()
		defer close(to)
		for b.Loop() {
			to <- 1
			<-from
		}
	})
	run("NULL", 0, func() error { return c.Call(ctx, 0, nil, nil) })
	for _, n := range []int{4 << 10, 64 << 10, 1 << 20} {
		p := make([]byte, n)
		run(fmt.Sprintf("copy/%dKiB", n>>10), n, func() error { copy(p, source); return nil })
		result := benchResult{p}
		read := oncrpc.Request{Procedure: 1, Args: &benchArgs{n: uint32(n)}, Reply: &result, MaxReply: 8, Results: [][]byte{p}}
		run(fmt.Sprintf("READ/%dKiB", n>>10), n, func() error { return c.Do(ctx, &read) })
		write := oncrpc.Request{Procedure: 2, Args: &benchArgs{data: p}, MaxReply: 8}
		run(fmt.Sprintf("WRITE/%dKiB", n>>10), n, func() error { return c.Do(ctx, &write) })
	}
}
