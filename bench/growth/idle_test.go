package growth

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	burst = 64   // calls at a time before a connection becomes idle
	busy  = 1000 // connections busy at a time

	// perAddress is how many connections go to one address 127.0.0.x. Each address has a limited
	// number of ports.
	perAddress = 5000
)

// data is the arguments and results of procEcho.
type data []byte

func (d data) MarshalXDR(e *xdr.Encoder)    { e.Opaque(d, 1<<10) }
func (d *data) UnmarshalXDR(x *xdr.Decoder) { *d = append((*d)[:0], x.Opaque(1<<10)...) }

func address(i, port int) string {
	return net.JoinHostPort(fmt.Sprintf("127.0.0.%d", 1+i/perAddress), strconv.Itoa(port))
}

// connect makes n connections, which close with the benchmark.
func connect(b *testing.B, s *server, n int, sockets host.Sockets) []*rpcrdma.Conn {
	b.Helper()
	conns := make([]*rpcrdma.Conn, n)
	b.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
		for _, c := range conns {
			if c != nil {
				<-c.Done()
			}
		}
	})
	d := iwarp.Dialer{Config: iwarp.Config{Control: sockets.Control}}
	for i := range conns {
		c, err := rpcrdma.Dial(b.Context(), d, address(i, s.first.Port), rpcrdma.Config{})
		if err != nil {
			b.Fatalf("connection %d: %v", i+1, err)
		}
		conns[i] = c
	}
	return conns
}

// calls makes rounds of calls over a connection, with as many callers at a time.
func calls(ctx context.Context, c *rpcrdma.Conn, callers, rounds, size int) error {
	cl := oncrpc.NewClient(c, program, version, oncrpc.AuthNone())
	errs := make(chan error, callers)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			args, reply := make(data, size), data{}
			for range rounds {
				if err := cl.Do(ctx, &oncrpc.Request{Procedure: procEcho, Args: args, Reply: &reply, MaxReply: 4 + 1<<10}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// BenchmarkIdle reports the memory of idle connections on the server.
func BenchmarkIdle(b *testing.B) {
	o, err := options()
	if err != nil {
		b.Fatal(err)
	}
	n := o.Conns
	for range b.N {
		s := startServer(b, o)
		nothing := s.report(true)
		conns := connect(b, s, n, o.Sockets)
		measure := func(when string) {
			r := s.report(true)
			heap, stack := r.Heap-nothing.Heap, r.Stack-nothing.Stack
			b.ReportMetric(float64(heap+stack)/float64(n), "B/conn-"+when)
			b.ReportMetric(float64(stack)/float64(n), "stack-B/conn-"+when)
		}
		measure("fresh")
		for _, c := range conns {
			if err := calls(b.Context(), c, 1, 1, 0); err != nil { // brings the credits
				b.Fatal(err)
			}
			if err := calls(b.Context(), c, burst, 1, 1<<10); err != nil {
				b.Fatal(err)
			}
		}
		measure("used")

		errs := make(chan error, busy)
		var wg sync.WaitGroup
		for _, c := range conns[:min(n, busy)] {
			wg.Go(func() { errs <- calls(b.Context(), c, 8, 10, 1<<10) })
		}
		wg.Wait()
		for range min(n, busy) {
			if err := <-errs; err != nil {
				b.Fatal(err)
			}
		}
		measure("after-busy")
		for i, c := range conns {
			if err := calls(b.Context(), c, 1, 1, 0); err != nil {
				b.Fatalf("connection %d of %d in the end: %v", i+1, n, err)
			}
		}
		b.ReportMetric(float64(n), "conns")
	}
}
