package rpcrdma_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// BenchmarkPadding compares the ways for the data of a small WRITE: by read chunk, inline, and inline and padded (RDMA_MSGP, draft section
// 3.9). The calls of the three take turns. It reports the time of a call of each way, and how many times as fast as by read chunk the
// other two are.
//
//	go test -run '^$' -bench Padding ./rpcrdma
func BenchmarkPadding(b *testing.B) {
	for _, provider := range []string{"loopback", "iwarp"} {
		for _, size := range []int{4 << 10, 8 << 10, 16 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", provider, size>>10), func(b *testing.B) { benchmarkPadding(b, provider, size) })
		}
	}
}

func benchmarkPadding(b *testing.B, provider string, size int) {
	const inline = 24 << 10
	draft := rpcrdma.Config{Dialect: rpcrdma.Draft}
	aligned := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: inline, InlineRecv: inline, Align: 4096, PeerAlign: 4096}
	long := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: inline, InlineRecv: inline}
	ways := []struct {
		name string
		cfg  rpcrdma.Config
		do   func() error
		took time.Duration
	}{{name: "read-chunk", cfg: draft}, {name: "inline", cfg: long}, {name: "padded", cfg: aligned}}
	sink := make([]byte, size)
	for i := range ways {
		c := benchClient(b, provider, ways[i].cfg, benchServer(nil, sink))
		req := oncrpc.Request{Procedure: 2, Args: &benchArgs{data: make([]byte, size)}, MaxReply: 8}
		ways[i].do = func() error { return c.Do(context.Background(), &req) }
	}
	const turn = 64 // calls, so that reading the clock does not count
	n := 0
	for b.Loop() {
		for i := range ways {
			w := &ways[i]
			begin := time.Now()
			for range turn {
				if err := w.do(); err != nil {
					b.Fatal(err)
				}
			}
			w.took += time.Since(begin)
		}
		n += turn
	}
	b.ReportMetric(0, "ns/op") // of all three
	for i := range ways {
		w := &ways[i]
		b.ReportMetric(float64(w.took.Nanoseconds())/float64(n), w.name+"-ns/call")
		if i > 0 {
			b.ReportMetric(float64(ways[0].took)/float64(w.took), w.name+"/read-chunk-speed")
		}
	}
}

// benchClient serves srv on a provider and returns a client of it.
func benchClient(b *testing.B, provider string, cfg rpcrdma.Config, srv *oncrpc.Server) *oncrpc.Client {
	b.Helper()
	var l transport.Listener
	var d transport.Dialer
	var err error
	switch provider {
	case "iwarp":
		l, err = iwarp.Listen(context.Background(), net.JoinHostPort("127.0.0.1", "0"), iwarp.Config{})
		d = iwarp.Dialer{}
	case "loopback":
		f := loopback.New()
		l, err = f.Listen("server", loopback.Config{})
		d = f.Dialer(loopback.Config{})
	}
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- rpcrdma.Serve(context.Background(), l, srv, cfg) }()
	conn, err := rpcrdma.Dial(context.Background(), d, l.Addr().String(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		srv.Shutdown(context.Background())
		<-served
	})
	return oncrpc.NewClient(conn, benchProgram, 1, oncrpc.AuthNone())
}
