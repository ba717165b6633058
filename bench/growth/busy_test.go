package growth

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/bench/spread"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// steps are the numbers of connections that are compared, with base. Over fewer than that, what a call costs is mostly waking up.
var steps = []int{1, 10, 100, 1000}

const base = 10

// way is one way to make calls, over some of its connections.
type way struct {
	name    string
	callers []chan *round // by connection
	cpu     map[int][]float64
	wall    map[int][]float64
}

// round is one measurement.
type round struct {
	wg    sync.WaitGroup
	calls atomic.Int64
	stop  atomic.Bool
	err   atomic.Pointer[error]
}

// caller starts a goroutine that calls over one connection in the rounds that it is told of. It stays, so that they do not begin with the
// growth of its stack.
func (w *way) caller(b *testing.B, call func() error) {
	rounds := make(chan *round)
	w.callers = append(w.callers, rounds)
	b.Cleanup(func() { close(rounds) })
	go func() {
		for r := range rounds {
			n := int64(0)
			for ; n == 0 || !r.stop.Load(); n++ {
				if err := call(); err != nil {
					r.err.Store(&err)
					break
				}
			}
			r.calls.Add(n)
			r.wg.Done()
		}
	}()
}

// measure makes calls over n connections for a while, one at a time on each, and notes what they cost.
func (w *way) measure(b *testing.B, s *server, n int, d time.Duration) {
	b.Helper()
	var r round
	r.wg.Add(n)
	before := s.report(false).CPU + host.CPUTime()
	start := time.Now()
	for _, c := range w.callers[:n] {
		c <- &r
	}
	time.Sleep(d)
	r.stop.Store(true)
	r.wg.Wait()
	took := time.Since(start)
	if err := r.err.Load(); err != nil {
		b.Fatalf("%s over %d connections: %v", w.name, n, *err)
	}
	cpu := s.report(false).CPU + host.CPUTime() - before
	w.cpu[n] = append(w.cpu[n], float64(cpu.Nanoseconds())/float64(r.calls.Load()))
	w.wall[n] = append(w.wall[n], float64(took.Nanoseconds())/float64(r.calls.Load()))
}

// growth is the median of what a call costs over n connections to what it costs over base.
func growth(costs map[int][]float64, n int) float64 {
	var ratios []float64
	for i, c := range costs[n] {
		ratios = append(ratios, c/costs[base][i])
	}
	return spread.Median(ratios)
}

func newWay(name string) *way {
	return &way{name: name, cpu: make(map[int][]float64), wall: make(map[int][]float64)}
}

// overRDMA makes NULL calls.
func overRDMA(b *testing.B, conns []*rpcrdma.Conn) *way {
	w := newWay("RDMA")
	for _, c := range conns {
		cl := oncrpc.NewClient(c, program, version, oncrpc.AuthNone())
		req := &oncrpc.Request{Procedure: procNull}
		w.caller(b, func() error { return cl.Do(context.Background(), req) })
	}
	return w
}

// overTCP exchanges messages.
func overTCP(b *testing.B, s *server, n int, sockets host.Sockets) *way {
	w := newWay("TCP")
	for i := range n {
		message := make([]byte, raw.MessageSize) // about as long as a NULL call over iWARP
		c, err := raw.Dial(b.Context(), address(i, s.first.TCP), sockets, message)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		if err := c.Announce(math.MaxUint64, 1, 1); err != nil { // until the end
			b.Fatal(err)
		}
		w.caller(b, func() error { return c.Exchange(1, nil) })
	}
	return w
}

// BenchmarkBusy reports how the cost of a call grows with the number of connections.
func BenchmarkBusy(b *testing.B) {
	o, err := options()
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		s := startServer(b, o)
		most := steps[len(steps)-1]
		rdma, tcp := overRDMA(b, connect(b, s, most, o.Sockets)), overTCP(b, s, most, o.Sockets)
		ways := []*way{tcp, rdma}
		for round := range o.Rounds + 1 {
			for _, n := range steps {
				for _, w := range ways {
					w.measure(b, s, n, o.Time)
					if round == 0 { // for the connections to warm up
						w.cpu[n], w.wall[n] = nil, nil
					}
				}
			}
		}
		var table strings.Builder
		fmt.Fprintf(&table, "%-6s %6s %14s %12s %12s %12s\n", "", "conns", "CPU us/call", "us/call", "CPU growth", "growth")
		for _, w := range ways {
			for _, n := range steps {
				fmt.Fprintf(&table, "%-6s %6d %14.2f %12.2f %12.2f %12.2f\n", w.name, n,
					spread.Median(w.cpu[n])/1e3, spread.Median(w.wall[n])/1e3, growth(w.cpu, n), growth(w.wall, n))
			}
		}
		b.Logf("\n%s", &table)
		for _, n := range steps {
			if n <= base {
				continue
			}
			b.ReportMetric(growth(rdma.cpu, n), fmt.Sprintf("x-CPU-%d", n))
			b.ReportMetric(growth(tcp.cpu, n), fmt.Sprintf("x-CPU-TCP-%d", n))
		}
	}
}
