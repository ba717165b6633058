package rpcrdma_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// BenchmarkPadding compares how the data of a small WRITE can get to an address at the server that
// is a multiple of 4096: by read chunk, which is fetched there; inline, from where it is copied
// there; and inline with padding (RDMA_MSGP, draft section 3.9), so that it is used where it
// has landed. The calls of the three take turns. It reports the time of a call of each way, and how
// many times as fast as by read chunk the other two are: the median of all turns.
//
//	go test -run '^$' -bench Padding ./rpcrdma
func BenchmarkPadding(b *testing.B) {
	for _, provider := range []string{"loopback", "iwarp"} {
		for _, size := range []int{4 << 10, 8 << 10, 12 << 10, 16 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", provider, size>>10), func(b *testing.B) { benchmarkPadding(b, provider, size) })
		}
	}
}

// benchPage is what data is to be aligned to.
const benchPage = 4096

// benchWay is a way for the data of a call, and what shows that it went that way.
type benchWay struct {
	name   string
	cfg    rpcrdma.Config
	went   func(i *rpcrdma.CallInfo, size int) bool
	here   bool // the data is used where it landed
	do     func() error
	took   time.Duration
	ratios []float64
	info   rpcrdma.CallInfo
	placed int // calls whose data was used where it landed
}

// CallDone notes how the last call has travelled.
func (w *benchWay) CallDone(i *rpcrdma.CallInfo) { w.info = *i }

func benchmarkPadding(b *testing.B, provider string, size int) {
	const inline = 24 << 10
	ways := []*benchWay{
		{name: "read-chunk", cfg: rpcrdma.Config{Dialect: rpcrdma.Draft},
			went: func(i *rpcrdma.CallInfo, size int) bool {
				return i.ReadChunk == size && i.InlineSent < 100 && i.Padding == 0
			}},
		{name: "inline", cfg: rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: inline, InlineRecv: inline},
			went: func(i *rpcrdma.CallInfo, size int) bool {
				return i.ReadChunk == 0 && i.InlineSent > size && i.Padding == 0
			}},
		{name: "padded", cfg: rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: inline, InlineRecv: inline, Align: benchPage, PeerAlign: benchPage}, here: true,
			went: func(i *rpcrdma.CallInfo, size int) bool {
				return i.ReadChunk == 0 && i.InlineSent > size && i.Padding > 0
			}},
	}
	sink := make([]byte, size+benchPage)
	sink = sink[-uintptr(unsafe.Pointer(unsafe.SliceData(sink)))%benchPage:][:size]
	for _, w := range ways {
		dst := [][]byte{sink} // one call at a time
		srv := oncrpc.NewServer(oncrpc.ServerConfig{})
		srv.Handle(oncrpc.Program{Number: benchProgram, Version: 1, Procedures: []oncrpc.Procedure{
			1: {Name: "WRITE", NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
				c.Args.Uint32()
				data := c.Args.Bulk(size)
				if data.Ready() {
					if p, err := data.Bytes(ctx); err != nil || uintptr(unsafe.Pointer(unsafe.SliceData(p)))%benchPage == 0 {
						w.placed++
						return err
					}
				}
				return data.FetchInto(ctx, dst)
			}},
		}})
		w.cfg.Observer = w
		c := benchClient(b, provider, w.cfg, srv)
		req := oncrpc.Request{Procedure: 1, Args: &benchArgs{data: make([]byte, size)}, MaxReply: 8}
		w.do = func() error { return c.Do(context.Background(), &req) }
	}
	const turn = 64 // calls between clock readings, so that these do not count
	n := 0
	for b.Loop() {
		var first time.Duration
		for i, w := range ways {
			begin := time.Now()
			for range turn {
				if err := w.do(); err != nil {
					b.Fatal(err)
				}
			}
			took := time.Since(begin)
			if i == 0 {
				first = took
			}
			w.took += took
			w.ratios = append(w.ratios, float64(first)/float64(took))
			if !w.went(&w.info, size) {
				b.Fatalf("%s: the last call went another way: %+v", w.name, w.info)
			}
		}
		n += turn
	}
	b.ReportMetric(0, "ns/op") // of all three
	for i, w := range ways {
		if want := map[bool]int{true: n}[w.here]; w.placed != want {
			b.Errorf("%s: the data of %d calls of %d was used where it had landed, want %d", w.name, w.placed, n, want)
		}
		b.ReportMetric(float64(w.took.Nanoseconds())/float64(n), w.name+"-ns/call")
		if i > 0 {
			slices.Sort(w.ratios)
			b.ReportMetric(w.ratios[len(w.ratios)/2], w.name+"/read-chunk-speed")
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
