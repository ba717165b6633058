package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// echo sends items through a server and back, with memory named for the results or not.
func echo(c oncrpc.Transport, args *items, land bool) error {
	req := oncrpc.Request{Procedure: procEcho, Args: args, MaxReply: args.len()}
	reply := &items{land: land}
	for _, p := range args.data {
		if land {
			reply.data = append(reply.data, make([]byte, len(p)))
		} else {
			req.MaxReply += len(p) + 3
		}
	}
	if land {
		req.Results = reply.data
	}
	req.Reply = reply
	if err := client(c).Do(context.Background(), &req); err != nil {
		return err
	}
	if reply.tail != args.tail || !slices.EqualFunc(reply.data, args.data, bytes.Equal) {
		return errors.New("echo differs")
	}
	return nil
}

// TestEcho sends every shape of message both ways, over a provider with all abilities and over one
// with the minimum.
func TestEcho(t *testing.T) {
	lengths := [][]int{{}, {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {1023}, {1024},
		{3950}, {3990}, {4000}, {4096}, {5001},
		{65536}, {100_003}, {1 << 20}, {1, 2, 3}, {5000, 0, 5001, 2}, {2000, 2000, 2000, 3, 70_001}, slices.Repeat([]int{500}, 20)}
	for _, abilities := range []string{"all", "minimum"} {
		for _, segment := range []int{0, 1 << 14} {
			var r *rig
			var c *rpcrdma.Conn
			server, cfg := rpcrdma.Config{SegmentSize: segment}, rpcrdma.Config{SegmentSize: segment, Logger: quiet}
			if abilities == "all" {
				r = newRig(t, server)
				c = r.dial(cfg)
			} else {
				r = newRigOn(t, server, loopback.Config{}, withoutAbilities)
				c = r.dialOn(cfg, withoutAbilities)
			}
			for _, l := range lengths {
				for _, land := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%d/%v/%v", abilities, segment, l, land), func(t *testing.T) {
						args := &items{tail: 5}
						for i, n := range l {
							args.data = append(args.data, pattern(uint64(i), n))
						}
						if err := echo(c, args, land); err != nil {
							t.Error(err)
						}
					})
				}
			}
		}
	}
}

// TestEchoAnything is TestEcho with random messages, configurations and concurrency.
func TestEchoAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		config := func(name string) rpcrdma.Config {
			return rpcrdma.Config{
				Logger:             quiet,
				InlineSend:         1024 * rapid.IntRange(1, 8).Draw(rt, name+" send"),
				InlineRecv:         1024 * rapid.IntRange(1, 8).Draw(rt, name+" recv"),
				Credits:            rapid.IntRange(1, 9).Draw(rt, name+" credits"),
				MinChunk:           rapid.SampledFrom([]int{1, 100, 1024, 5000}).Draw(rt, name+" chunk"),
				SegmentSize:        rapid.SampledFrom([]int{4000, 10_001, 1 << 20}).Draw(rt, name+" segment"),
				MaxMessage:         1 << 20,
				NoRemoteInvalidate: rapid.Bool().Draw(rt, name+" invalidate"),
			}
		}
		lcfg := loopback.Config{IRD: rapid.IntRange(1, 4).Draw(rt, "ird"),
			ORD: rapid.IntRange(1, 4).Draw(rt,
				"ord"), SendDepth: rapid.SampledFrom([]int{2, 20, 1000}).Draw(rt, "depth")}
		f, prog := loopback.New(), newProgram()
		l, err := f.Listen(rigAddr, lcfg)
		if err != nil {
			rt.Fatal(err)
		}
		srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
		srv.Handle(prog.program())
		served, scfg := make(chan error, 1), config("server")
		go func() { served <- rpcrdma.Serve(context.Background(), l, srv, scfg) }()
		c, err := rpcrdma.Dial(context.Background(), f.Dialer(lcfg), rigAddr, config("client"))
		if err != nil {
			rt.Fatal(err)
		}
		calls := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) *items {
			a := &items{tail: rapid.Uint32().Draw(rt, "tail")}
			for i, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(900, 1100), rapid.IntRange(0, 20_000)), 0, 5).Draw(rt, "lengths") {
				a.data = append(a.data, pattern(uint64(i), n))
			}
			return a
		}), 1, 12).Draw(rt, "calls")
		land := rapid.Bool().Draw(rt, "land")
		var wg sync.WaitGroup
		errs := make([]error, len(calls))
		for i, a := range calls {
			wg.Go(func() { errs[i] = echo(c, a, land) })
		}
		hang.Wait(t, "the callers", &wg)
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
		srv.Shutdown(context.Background())
		hang.Receive(t, "the end of Serve", served)
		if err := errors.Join(errs...); err != nil {
			rt.Error(err)
		}
		if n, size := f.Domain().Allocated(); n != 0 {
			rt.Errorf("%d pieces of provider memory leaked, %d bytes", n, size)
		}
	})
}

// TestServerError checks that an error of a handler fails the RPC, and not the connection.
func TestServerError(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	var accept *oncrpc.AcceptError
	if err := client(c).Call(context.Background(), procFail, nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.SystemErr {
		t.Error(err)
	}
	if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
		t.Error(err)
	}
}

// TestConnectionLost ends connections from either side while calls are under way and while some
// wait.
func TestConnectionLost(t *testing.T) {
	for _, side := range []string{"client", "server", "shutdown"} {
		t.Run(side, func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Credits: 4})
			c := r.dial(rpcrdma.Config{Credits: 4})
			if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			var all []chan error
			for range 10 {
				done := make(chan error, 1)
				all = append(all, done)
				arg := &items{data: [][]byte{make([]byte, 9000)}}
				go func() {
					done <- client(c).Do(context.Background(), &oncrpc.Request{Procedure: procBlock, Args: arg, MaxReply: 9100})
				}()
			}
			for range 4 {
				wait(t, r.program.entered)
			}
			switch side {
			case "client":
				c.Close()
			case "server":
				conn.Close()
			case "shutdown":
				r.server.Close()
			}
			for _, done := range all {
				if err := wait(t, done); !errors.Is(err, net.ErrClosed) {
					t.Errorf("call: %v", err)
				}
			}
			ended(t, c)
			ended(t, conn)
			if err := client(c).Call(context.Background(), procNull, nil, nil); !errors.Is(err, net.ErrClosed) {
				t.Errorf("call afterwards: %v", err)
			}
			waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
		})
	}
}

// TestShutdownDrains checks that calls under way are answered before the connections are closed.
func TestShutdownDrains(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	arg := &items{data: [][]byte{pattern(1, 9000)}}
	done := make(chan error, 1)
	var reply items
	go func() {
		done <- client(c).Do(context.Background(), &oncrpc.Request{Procedure: procBlock, Args: arg, Reply: &reply, MaxReply: 9100})
	}()
	wait(t, r.program.entered)
	stopped := make(chan error, 1)
	go func() { stopped <- r.server.Shutdown(context.Background()) }()
	waitFor(t, r.server.Closed)
	r.program.gate <- struct{}{}
	if err := wait(t, done); err != nil || !bytes.Equal(reply.data[0], arg.data[0]) {
		t.Errorf("call under way: %v", err)
	}
	if err := wait(t, stopped); err != nil {
		t.Error(err)
	}
	ended(t, c)
}

// numbering is a connection whose calls have the XIDs 1, 2 and so on.
type numbering struct {
	*rpcrdma.Conn
	next *atomic.Uint32
}

func (n numbering) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	x.XID = n.next.Add(1)
	defer func() { x.XID = 0 }()
	return n.Conn.RoundTrip(ctx, x)
}

// TestBothWays has a server call its client back, on the same connection, with the same transaction
// ids in use in both directions (docs/readings.md, 8).
func TestBothWays(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	conn := wait(t, r.program.conns)
	ends := [2]numbering{{Conn: c, next: new(atomic.Uint32)},
		{Conn: conn, next: new(atomic.Uint32)}}
	var wg sync.WaitGroup
	for i := range 50 {
		for _, from := range []oncrpc.Transport{ends[0], ends[1]} {
			wg.Go(func() {
				if err := echo(from, &items{data: [][]byte{pattern(uint64(i), i*500)}, tail: uint32(i)}, i%2 == 0); err != nil {
					t.Error(err)
				}
			})
		}
	}
	hang.Wait(t, "the callers", &wg)
}

// TestUnserved checks that calls to an end that serves nothing are answered PROG_UNAVAIL, and that
// it can serve later.
func TestUnserved(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	conn := wait(t, r.program.conns)
	for range 3 {
		var accept *oncrpc.AcceptError
		if err := client(conn).Call(context.Background(), procNull, nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProgUnavail {
			t.Errorf("call back: %v", err)
		}
	}
	if grant, _, _ := conn.Credits(); grant != 1 {
		t.Errorf("granted %d", grant)
	}
	if got := c.Stats().Unserved; got != 3 {
		t.Errorf("%d calls counted", got)
	}
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	if err := echo(conn, &items{data: [][]byte{pattern(1, 9000)}}, true); err != nil {
		t.Errorf("served: %v", err)
	}
}
