package program_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// overRDMA serves the program within this process and connects to it.
func overRDMA(t *testing.T, server, client rpcrdma.Config) oncrpc.Transport {
	t.Helper()
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(program.New())
	served := make(chan error)
	go func() { served <- rpcrdma.Serve(context.Background(), l, srv, server) }()
	c, err := rpcrdma.Dial(t.Context(), f.Dialer(loopback.Config{}), "server", client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
		srv.Close()
		<-served
	})
	return c
}

// overTCP does the same over TCP.
func overTCP(t *testing.T) oncrpc.Transport {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(program.New())
	served := make(chan error)
	go func() { served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{}) }()
	c, err := recordmark.Dial(t.Context(), l.Addr().String(),
		recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
		srv.Close()
		<-served
	})
	return c
}

// transports are the transports to serve the program over.
func transports(t *testing.T) map[string]oncrpc.Transport {
	large := rpcrdma.Config{MaxMessage: program.MaxMessage}
	draft := rpcrdma.Config{MaxMessage: program.MaxMessage, Dialect: rpcrdma.Draft, InlineSend: 64 << 10, InlineRecv: 64 << 10}
	aligned, padded := draft, draft
	aligned.Align, padded.PeerAlign = program.Page, program.Page
	return map[string]oncrpc.Transport{
		"RDMA":            overRDMA(t, large, large),
		"RDMA and padded": overRDMA(t, aligned, padded),
		"TCP":             overTCP(t),
	}
}

// TestCalls: payloads of all sizes go up and come down. Those that come down are as the server
// wrote them.
func TestCalls(t *testing.T) {
	want := host.Pattern(program.MaxPayload)
	for name, conn := range transports(t) {
		for _, n := range []int{0, 1, 255, 4096, 5000, 60 << 10, 1 << 20, program.MaxPayload} {
			if err := program.NewTakeCaller(conn, want[:n]).Call(t.Context()); err != nil {
				t.Errorf("%s: TAKE of %d bytes: %v", name, n, err)
			}
			for _, named := range []bool{true, false} {
				got := make([]byte, n)
				if err := program.NewGiveCaller(conn, got, named).Call(t.Context()); err != nil {
					t.Errorf("%s: GIVE of %d bytes, named %t: %v", name, n, named, err)
				}
				if string(got) != string(want[:n]) {
					t.Errorf("%s: GIVE of %d bytes, named %t: other bytes", name, n, named)
				}
			}
		}
	}
}

// raw encodes arguments as they are, and accepts any results.
type raw []byte

func (r raw) MarshalXDR(e *xdr.Encoder)   { e.Raw(r) }
func (r raw) UnmarshalXDR(d *xdr.Decoder) { d.Raw(d.Remaining()) }

// TestGarbage: malformed arguments.
func TestGarbage(t *testing.T) {
	c := oncrpc.NewClient(overTCP(t), program.Number, program.Version, oncrpc.AuthNone())
	for _, tt := range []struct {
		procedure uint32
		args      raw
		want      oncrpc.AcceptStat
	}{
		{program.Null, nil, oncrpc.Success},
		{program.Give, raw{0, 0, 0, 8}, oncrpc.Success},
		{program.Give, raw{0, 0x40, 0, 1}, oncrpc.GarbageArgs}, // one byte too many
		{program.Give, raw{0xff, 0xff, 0xff, 0xff}, oncrpc.GarbageArgs},
		{program.Give, nil, oncrpc.GarbageArgs},
		{program.Give, raw{0, 0, 0, 8, 0, 0, 0, 8}, oncrpc.GarbageArgs},
		{program.Take, nil, oncrpc.GarbageArgs},
		{program.Take, raw{0, 0, 0, 1}, oncrpc.GarbageArgs},
		{program.Take, raw{0xff, 0xff, 0xff, 0xff}, oncrpc.GarbageArgs},
		{program.Take, raw{0, 0, 0, 1, 7, 0, 0, 0}, oncrpc.Success},
		{program.Take, raw{0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0}, oncrpc.GarbageArgs},
		{3, nil, oncrpc.ProcUnavail},
	} {
		got := oncrpc.Success
		err := c.Do(t.Context(), &oncrpc.Request{Procedure: tt.procedure, Args: tt.args, Reply: raw(nil)})
		var accept *oncrpc.AcceptError
		if errors.As(err, &accept) {
			got, err = accept.Stat, nil
		}
		if got != tt.want || err != nil {
			t.Errorf("procedure %d with %x: got %v, error %v, want %v", tt.procedure, []byte(tt.args), got, err, tt.want)
		}
	}
}

// TestLength: a payload of the wrong length is an error.
func TestLength(t *testing.T) {
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	// An empty opaque, or a length of 0.
	short := func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(0)
		return nil
	}
	srv.Handle(oncrpc.Program{Number: program.Number, Version: program.Version, Procedures: []oncrpc.Procedure{
		program.Take: {Handler: short}, program.Give: {Handler: short},
	}})
	near, far := net.Pipe()
	server, err := recordmark.NewConn(far, recordmark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := recordmark.NewConn(near, recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(srv)
	defer func() {
		client.Close()
		<-client.Done()
		<-server.Done()
		srv.Close()
	}()
	for name, c := range map[string]*program.Caller{"TAKE": program.NewTakeCaller(client, make([]byte, 8)), "GIVE": program.NewGiveCaller(client, make([]byte, 8), true)} {
		if err := c.Call(t.Context()); err == nil || err.Error() != "payload of 0 bytes, want 8" {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// TestAllocs: neither side allocates in the steady state.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	payload := make([]byte, 32<<10)
	for name, conn := range transports(t) {
		for _, c := range []*program.Caller{program.NewTakeCaller(conn, payload), program.NewGiveCaller(conn, payload, true)} {
			call := func() {
				if err := c.Call(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				call()
			}
			if n := testing.AllocsPerRun(500, call); n > 0 {
				t.Errorf("%s: %s: got %v allocations a call, want none", name, fmt.Sprintf("%T", c), n)
			}
		}
	}
}
