package bench

import (
	"context"
	"errors"
	"math"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// options returns options of a short run against a server in another process.
func options(t *testing.T, points ...Point) Options {
	t.Helper()
	t.Setenv(childVariable, "server")
	return Options{
		Grid:        Grid{Name: "test", Points: points},
		Time:        30 * time.Second, // for slow machines
		MinPerRound: 3 * time.Millisecond,
		MaxPerRound: 3 * time.Millisecond,
		Rounds:      1,
		Command:     self(),
		Sockets:     host.Sockets{Congestion: host.DefaultCongestion},
		Logger:      quiet,
	}
}

// TestRun measures every way over every path: small and large payloads, one call and several, one
// connection and several. Run itself checks that calls went the intended way.
func TestRun(t *testing.T) {
	paths := usualPaths()
	if runtime.GOOS == "linux" {
		paths = Paths()
		t.Setenv(roceVariable, rocerig.Addr(t).String()+":0")
	}
	axes := Axes{Paths: paths, Ways: Ways(), Sizes: []int{1, 1024, 60 << 10, 1 << 20}, InFlight: []int{3}, Conns: []int{2}}
	g := axes.Grid("test")
	for _, way := range Ways() {
		g.add(Point{IWARP, way, 1024, 1, 1})
	}
	o := options(t)
	o.Grid = g
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []Point
	for _, m := range r.Measured {
		got = append(got, m.Point)
		checkMeasured(t, m)
	}
	if !slices.Equal(got, g.Points) {
		t.Errorf("got %d points, want the %d of the grid, in order; left out: %v", len(got), len(g.Points), r.LeftOut)
	}
	for _, figures := range [][]Figure{r.Yardsticks.Copy, r.Yardsticks.TCP} {
		var sizes []int
		for _, f := range figures {
			sizes = append(sizes, f.Size)
			if f.Throughput <= 0 {
				t.Errorf("a yardstick of %v at %d bytes", f.Throughput, f.Size)
			}
		}
		if !slices.Equal(sizes, axes.Sizes) {
			t.Errorf("got yardsticks at %v, want %v", sizes, axes.Sizes)
		}
	}
	if p := r.Yardsticks.PingPong; p.P50 <= 0 || p.P50 > p.P99 || p.P99 > p.Max {
		t.Errorf("got a ping-pong of %+v", p)
	}
	if len(r.LeftOut) != len(g.LeftOut) {
		t.Errorf("left out: %v", r.LeftOut)
	}
	if r.Grid != "test" || r.Server != "another process on this host" || len(r.Conditions) == 0 || r.Took <= 0 {
		t.Errorf("got grid %q, server %q, %d conditions, %v", r.Grid, r.Server, len(r.Conditions), r.Took)
	}
}

// checkMeasured checks what must hold for every point.
func checkMeasured(t *testing.T, m Measurement) {
	t.Helper()
	if least := int64(m.InFlight * m.Conns); m.Calls < least {
		t.Errorf("%v: got %d calls, want %d at least", m.Point, m.Calls, least)
	}
	if l := m.Latency; m.Elapsed <= 0 || l.P50 <= 0 || l.P50 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || l.Max > m.Elapsed+m.Elapsed/100 {
		t.Errorf("%v: got latencies of %+v in %v", m.Point, l, m.Elapsed)
	}
	if m.Ratio <= 0 {
		t.Errorf("%v: got a ratio of %v", m.Point, m.Ratio)
	}
	// Each payload travels once. Headers outweigh the smallest payloads. RoCE retransmits late
	// packets, on a busy machine any number of times.
	payload := m.Calls * int64(m.Size)
	most := payload + payload/50 + m.Calls*5500 // padding to a page, and markers
	if m.Path == RoCE {
		most = math.MaxInt64
	}
	switch {
	case m.Path == Loopback:
		if m.WireBytes != 0 || m.ServerUsage != (Usage{}) {
			t.Errorf("%v: got %d bytes on the wire, and a server that uses %+v", m.Point, m.WireBytes, m.ServerUsage)
		}
	case m.Path == TCP: // headers of 48 and 32 bytes, with record marks
		if want := m.Calls * int64(80+xdr.RoundUp(m.Size)); m.WireBytes != want {
			t.Errorf("%v: got %d bytes on the wire for %d calls, want %d", m.Point, m.WireBytes, m.Calls, want)
		}
	case m.WireBytes < payload+m.Calls*100 || m.WireBytes > most:
		t.Errorf("%v: got %d bytes on the wire for %d of payload in %d calls", m.Point, m.WireBytes, payload, m.Calls)
	}
	const before = 2 // of the previous point: the server may not have noticed their end yet
	if at := m.ServerUsage.Conns; m.Client.Conns != m.Conns || m.Path != Loopback && (at < m.Conns || at > m.Conns+before) {
		t.Errorf("%v: got %d connections at the client, %d at the server", m.Point, m.Client.Conns, m.ServerUsage.Conns)
	}
	if m.Client.Heap == 0 || m.Client.Stacks == 0 || m.Path != Loopback && (m.ServerUsage.Heap == 0 || m.ServerUsage.Stacks == 0) {
		t.Errorf("%v: got usage of %+v and %+v", m.Point, m.Client, m.ServerUsage)
	}
}

// TestRunOtherWay: calls that go another way than intended are an error, not a result.
func TestRunOtherWay(t *testing.T) {
	good := Point{Loopback, ReadChunk, 4096, 1, 1}
	for _, tt := range []struct {
		way  Way
		info rpcrdma.CallInfo
	}{
		{InlineCall, rpcrdma.CallInfo{InlineSent: 4140, InlineReceived: 28}},
		{Padded, rpcrdma.CallInfo{InlineSent: 4140, Padding: 4020, InlineReceived: 28}},
		{ReadChunk, rpcrdma.CallInfo{InlineSent: 44, ReadChunk: 4096, InlineReceived: 28}},
		{LongCall, rpcrdma.CallInfo{ReadChunk: 4140, InlineReceived: 28}},
		{InlineReply, rpcrdma.CallInfo{InlineSent: 44, InlineReceived: 4124}},
		{WriteChunk, rpcrdma.CallInfo{InlineSent: 44, WriteChunk: 4096, InlineReceived: 28}},
		{ReplyChunk, rpcrdma.CallInfo{InlineSent: 44, ReplyChunk: 4124}},
	} {
		for _, way := range Ways() {
			p := good
			p.Way = way
			if got, want := p.travelled(&tt.info), way == tt.way; got != want {
				t.Errorf("a call that goes as %s, measured as %s: got %t, want %t", tt.way, way, got, want)
			}
			m := meter{point: p}
			m.CallDone(&rpcrdma.CallInfo{Err: net.ErrClosed}) // the caller knows this error
			m.CallDone(&tt.info)
			if err := m.check(); errors.Is(err, errWay) != (way != tt.way) {
				t.Errorf("a call that goes as %s, measured as %s: got error %v", tt.way, way, err)
			}
		}
	}
}

// TestRunServerLost: the results and the error when the server ends during a run.
func TestRunServerLost(t *testing.T) {
	o := options(t, points2()...)
	ctx, cancel := context.WithCancel(t.Context())
	addr, served := serve(t, ctx)
	o.Server, o.Command = addr, nil
	o.Progress = func(p Progress) {
		if p.Done == 2 {
			cancel()
			<-served
		}
	}
	r, err := Run(t.Context(), o)
	var lost *LostError
	if r == nil || !errors.As(err, &lost) || lost.Points != 2 || lost.Server != addr || errors.Is(err, ErrSilent) {
		t.Fatalf("got result %v, error %v, want what was measured and that the server was lost after 2 points", r, err)
	}
	if len(r.Measured) != 2 || len(r.LeftOut) != 1 || len(r.LeftOut[0].Points) != 2 || r.LeftOut[0].Why != "the server was lost" {
		t.Errorf("got %d points, left out %v", len(r.Measured), r.LeftOut)
	}
	if r.Server != addr {
		t.Errorf("got server %q, want %q", r.Server, addr)
	}
}

// points2 returns four points in the order of the grid.
func points2() []Point {
	var all []Point
	for _, way := range []Way{InlineCall, ReadChunk, InlineReply, WriteChunk} {
		all = append(all, Point{IWARP, way, 4096, 2, 1})
	}
	return all
}

// serve runs a server in this process until ctx ends.
func serve(t *testing.T, ctx context.Context) (addr string, served <-chan error) {
	t.Helper()
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- Serve(ctx, ServerOptions{Listen: "127.0.0.1:0", Logger: quiet}, func(addr string) { ready <- addr })
		close(done)
	}()
	select {
	case addr = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	return addr, done
}

// TestRunInterrupted: an interrupt keeps what was measured before.
func TestRunInterrupted(t *testing.T) {
	o := options(t, points2()...)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p Progress) {
		if p.Done == 2 {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if r == nil || !errors.Is(err, context.Canceled) || len(r.Measured) != 2 {
		t.Fatalf("got %+v, error %v, want two points and %v", r, err, context.Canceled)
	}
	if len(r.LeftOut) != 1 || r.LeftOut[0].Why != "interrupted" || len(r.LeftOut[0].Points) != 2 {
		t.Errorf("left out: %v", r.LeftOut)
	}
}

// TestRunInterruptedWithin: an interrupt ends even the current point, however long it would take.
func TestRunInterruptedWithin(t *testing.T) {
	serving, end := context.WithCancel(t.Context())
	addr, served := serve(t, serving)
	defer func() { end(); <-served }()
	conn, err := recordmark.Dial(t.Context(), addr,
		recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { conn.Close(); <-conn.Done() }()
	for _, path := range []Path{IWARP, TCP} {
		o := options(t, Point{path, InlineCall, 4096, 2, 2})
		o.Command, o.Server = nil, addr
		o.Time, o.MinPerRound, o.MaxPerRound = 20*time.Second, time.Millisecond, 20*time.Second
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(Progress) {
			go func() { // wait for its connections and Run's own
				for {
					if u, err := control.NewClient(conn).Usage(t.Context()); err != nil || u.Conns >= 3 {
						cancel()
						return
					}
				}
			}()
		}
		if r, err := Run(ctx, o); r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, error %v, want %v", path, r, err, context.Canceled)
		}
	}
}

// TestRunNowhere: an address with no server, and one with another server.
func TestRunNowhere(t *testing.T) {
	o := options(t, points2()...)
	o.Command, o.Server = nil, "127.0.0.1:1"
	if r, err := Run(t.Context(), o); r != nil || err == nil {
		t.Errorf("nobody listens: got %v, error %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	addr, served := serve(t, ctx)
	cancel()
	<-served
	o.Server = addr
	if r, err := Run(t.Context(), o); r != nil || err == nil {
		t.Errorf("nobody listens any more: got %v, error %v", r, err)
	}
}

// TestRunMemory: too little memory for all points, at the client or at the server.
func TestRunMemory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr, served := serve(t, ctx)
	defer func() { cancel(); <-served }()
	o := options(t, points2()...)
	o.Command, o.Server, o.Memory = nil, addr, 1000
	o.Progress = func(p Progress) { t.Errorf("got progress %v", p) }
	var memory *MemoryError
	if r, err := Run(t.Context(), o); r != nil || !errors.As(err, &memory) || *memory != (MemoryError{Least: 2 * 4096 * 2, Memory: 1000}) {
		t.Errorf("got result %v, error %v", r, err)
	}
}

// TestServeTaken: a port that is taken, and one with too few free ports after it.
func TestServeTaken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr, served := serve(t, ctx)
	defer func() { cancel(); <-served }()
	for _, listen := range []string{addr, "127.0.0.1:65535", "127.0.0.1", "127.0.0.1:x"} {
		if err := Serve(t.Context(), ServerOptions{Listen: listen, Logger: quiet}, func(string) { t.Error("it is ready") }); err == nil {
			t.Errorf("%s: got no error", listen)
		}
	}
}
