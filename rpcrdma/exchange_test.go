package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
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

// TestEchoAnything sends random messages both ways, several at once, between ends of random
// configurations.
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
		lcfg := loopback.Config{
			IRD:       rapid.IntRange(1, 4).Draw(rt, "ird"),
			ORD:       rapid.IntRange(1, 4).Draw(rt, "ord"),
			SendDepth: rapid.SampledFrom([]int{2, 20, 1000}).Draw(rt, "depth"),
		}
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
		length := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(900, 1100), rapid.IntRange(0, 20_000))
		calls := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) *items {
			a := &items{tail: rapid.Uint32().Draw(rt, "tail")}
			for i, n := range rapid.SliceOfN(length, 0, 5).Draw(rt, "lengths") {
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

// blocked makes a call of procBlock, of 9000 bytes both ways.
func blocked(c *rpcrdma.Conn, reply *items) <-chan error {
	done := make(chan error, 1)
	args := &items{data: [][]byte{pattern(1, 9000)}}
	req := &oncrpc.Request{Procedure: procBlock, Args: args, Reply: reply, MaxReply: 9100}
	go func() { done <- client(c).Do(context.Background(), req) }()
	return done
}

// TestConnectionLost ends connections from either side while calls are under way and while some
// wait.
func TestConnectionLost(t *testing.T) {
	for side, end := range map[string]func(c, conn *rpcrdma.Conn, r *rig){
		"client":   func(c, _ *rpcrdma.Conn, _ *rig) { c.Close() },
		"server":   func(_, conn *rpcrdma.Conn, _ *rig) { conn.Close() },
		"shutdown": func(_, _ *rpcrdma.Conn, r *rig) { r.server.Close() },
	} {
		t.Run(side, func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Credits: 4})
			c := r.dial(rpcrdma.Config{Credits: 4})
			if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			var all []<-chan error
			for range 10 {
				all = append(all, blocked(c, &items{}))
			}
			for range 4 {
				wait(t, r.program.entered)
			}
			end(c, conn, r)
			for _, done := range all {
				if err := wait(t, done); !errors.Is(err, net.ErrClosed) {
					t.Errorf("call: %v", err)
				}
			}
			ended(t, c)
			ended(t, conn)
			if err := client(c).Call(t.Context(), procNull, nil, nil); !errors.Is(err, net.ErrClosed) {
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
	var reply items
	done := blocked(c, &reply)
	wait(t, r.program.entered)
	stopped := make(chan error, 1)
	go func() { stopped <- r.server.Shutdown(context.Background()) }()
	waitFor(t, r.server.Closed)
	r.program.gate <- struct{}{}
	if err := wait(t, done); err != nil || !bytes.Equal(reply.data[0], pattern(1, 9000)) {
		t.Errorf("call under way: %v", err)
	}
	if err := wait(t, stopped); err != nil {
		t.Error(err)
	}
	ended(t, c)
}

// TestServeContext ends the context of a Serve whose listener is closed already.
func TestServeContext(t *testing.T) {
	l, d := providers["loopback"](t)
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	defer srv.Close()
	srv.Handle(newProgram().program())
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{Logger: quiet}) }()
	c, err := rpcrdma.Dial(ctx, d, rigAddr, rpcrdma.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := client(c).Call(ctx, procNull, nil, nil); err != nil {
			t.Error(err)
		}
		l.Close()
	}
	cancel()
	if err := wait(t, served); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	ended(t, c)
}

// TestCallBack: a server calls its client back, inline and by chunks. The bytes are like those of
// calls in the other direction (RFC 8167 section 5.1), and replies are accepted (section 5.2).
func TestCallBack(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	for _, size := range []int{100, 9000} {
		data := pattern(1, size)
		s := start(t.Context(), conn, &items{data: [][]byte{data}, tail: 7}, make([]byte, size))
		h, body, m := p.nextMsg()
		want := be32(h.XID, 1, 64, 0)
		reply := header(h.XID, rpcrdma.TypeMsg)
		call := callBytes(h.XID, procEcho, &items{data: [][]byte{data}, tail: 7})
		answer := echoReply(h.XID, data)
		if size > 4096 { // everything except the data is inline
			if got := p.read(h.Reads[0].Segment); !bytes.Equal(got, data) {
				t.Error("the read chunk differs")
			}
			call = append(call[:52:52], be32(7)...)
			p.writeChunk(h.Writes[0], data)
			reply.AddWrite(h.Writes[0])
			answer = result(h.XID, size)
		}
		if !bytes.HasPrefix(m.b, want) || !bytes.Equal(body, call) {
			t.Errorf("header %x, call\n%x, want %x and\n%x", m.b[:16], body, want, call)
		}
		p.send(reply, answer)
		if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
			t.Errorf("reply: error %v", err)
		}
	}
}

// TestUnserved checks that calls to an end that serves nothing are answered PROG_UNAVAIL, and that
// it can serve later. An error of a handler fails the call, too, and not the connection.
func TestUnserved(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	fails := func(c *rpcrdma.Conn, procedure uint32, want oncrpc.AcceptStat) {
		t.Helper()
		var accept *oncrpc.AcceptError
		err := client(c).Call(t.Context(), procedure, nil, nil)
		if !errors.As(err, &accept) || accept.Stat != want {
			t.Errorf("call: %v, want %v", err, want)
		}
	}
	fails(c, procFail, oncrpc.SystemErr)
	if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	conn := wait(t, r.program.conns)
	for range 3 {
		fails(conn, procNull, oncrpc.ProgUnavail)
	}
	if grant, _, _ := conn.Credits(); grant != 1 {
		t.Errorf("granted %d", grant)
	}
	if got := c.Stats().Unserved; got != 3 {
		t.Errorf("%d calls counted", got)
	}
	serveBack(t, c)
	if err := echo(conn, &items{data: [][]byte{pattern(1, 9000)}}, true); err != nil {
		t.Errorf("served: %v", err)
	}
}
