package growth

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// base is the number of connections that others are compared with. With fewer, the cost of a call
// is mostly waking up.
const base = 10

// comparisons compare calls over 1, 100 and 1000 connections with calls over base. The CPU ratio
// says how much more a call costs.
var comparisons []paired.Comparison

func init() {
	for _, way := range []func(n int) paired.Scenario{overTCP, overRDMA} {
		few := way(base)
		paired.Register(few)
		for _, n := range []int{1, 100, 1000} {
			s := way(n)
			paired.Register(s)
			comparisons = append(comparisons, paired.Comparison{
				Yardstick: few.Name, Candidate: s.Name, Time: 200 * time.Millisecond,
			})
		}
	}
}

// BenchmarkBusy reports how the cost of a call grows with the number of connections.
func BenchmarkBusy(b *testing.B) { paired.Bench(b, comparisons...) }

// TestBusy runs each comparison briefly.
func TestBusy(t *testing.T) {
	o := paired.Options{Starts: 1, Rounds: 1, Time: 10 * time.Millisecond, Limit: time.Minute}
	for _, c := range comparisons {
		r, err := paired.Compare(t.Context(), o, c.Yardstick, c.Candidate)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Ratio().Median; !(got > 0) {
			t.Errorf("%s: got a ratio of %v", c.Candidate, got)
		}
	}
}

// overTCP returns a scenario that exchanges messages about as long as NULL calls over iWARP.
func overTCP(n int) paired.Scenario {
	return paired.Scenario{
		Name:   fmt.Sprintf("tcp/pingpong over %d", n),
		Metric: paired.Rate,
		Listen: paired.ListenTCP(n),
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			return dial(n, func() (call func() error, end func(), err error) {
				c, err := raw.Dial(ctx, addr, s, make([]byte, raw.MessageSize))
				if err == nil {
					err = c.Announce(math.MaxUint64, 1, 1) // until the end
				}
				return func() error { return c.Exchange(1, nil) }, func() { c.Close() }, err
			})
		},
	}
}

// overRDMA returns a scenario that makes NULL calls.
func overRDMA(n int) paired.Scenario {
	return paired.Scenario{
		Name:   fmt.Sprintf("iwarp/null over %d", n),
		Metric: paired.Rate,
		Listen: func(ctx context.Context, s paired.Sockets) (paired.Server, error) {
			l, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{Control: s.Control})
			if err != nil {
				return nil, err
			}
			srv := newServer()
			return paired.Serve(ctx, l.Addr(), func(ctx context.Context) error {
				defer srv.Close()
				return rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
			}), nil
		},
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			d := iwarp.Dialer{Config: iwarp.Config{Control: s.Control}}
			return dial(n, func() (call func() error, end func(), err error) {
				c, err := rpcrdma.Dial(ctx, d, addr, rpcrdma.Config{})
				if err != nil {
					return nil, nil, err
				}
				cl := oncrpc.NewClient(c, program, version, oncrpc.AuthNone())
				req := &oncrpc.Request{Procedure: procNull}
				return func() error { return cl.Do(context.Background(), req) }, func() { c.Close(); <-c.Done() }, nil
			})
		},
	}
}

// client makes calls over many connections, one at a time on each.
type client struct {
	*paired.Callers
	ends []func()
}

// dial makes n connections.
func dial(n int, one func() (call func() error, end func(), err error)) (*client, error) {
	c := new(client)
	var calls []func() error
	for i := range n {
		call, end, err := one()
		if err != nil {
			c.disconnect()
			return nil, fmt.Errorf("connection %d: %w", i+1, err)
		}
		calls, c.ends = append(calls, call), append(c.ends, end)
	}
	c.Callers = paired.NewCallers(n, func(i int) error { return calls[i]() })
	return c, nil
}

// Close ends the connections.
func (c *client) Close() error {
	c.End()
	c.disconnect()
	return nil
}

func (c *client) disconnect() {
	for _, end := range c.ends {
		end()
	}
}
