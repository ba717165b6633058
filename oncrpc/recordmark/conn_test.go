package recordmark_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The bytes of a call and its reply, written by hand from RFC 5531 sections 9 and 11.
func TestGolden(t *testing.T) {
	c, peer := newRawPeer(t, recordmark.Config{})
	done := make(chan error, 1)
	var got result
	go func() {
		done <- client(c).Call(context.Background(), 7, data("\x01\x02\x03\x04\x05"), &got)
	}()
	call := peer.bytes(4 + 40 + 12)
	xid := call[4:8]
	// mark, xid, CALL, RPC version
	want := "80000034" + hex.EncodeToString(xid) + "00000000" + "00000002" +
		"20000002" + "00000003" + "00000007" + // program, version, procedure
		"0000000000000000" + "0000000000000000" + // AUTH_NONE, twice
		"00000005" + "0102030405000000"
	if hex.EncodeToString(call) != want {
		t.Errorf("call\n got %x\nwant %s", call, want)
	}
	// mark, xid, REPLY, MSG_ACCEPTED
	reply, _ := hex.DecodeString("8000001c" + hex.EncodeToString(xid) + "00000001" + "00000000" +
		"0000000000000000" + "00000000" + "0000002a") // AUTH_NONE, SUCCESS, 42
	if _, err := peer.Write(reply); err != nil {
		t.Fatal(err)
	}
	if err := hang.Receive(t, "the call", done); err != nil || got.word != 42 {
		t.Errorf("got %d, %v, want 42", got.word, err)
	}
}

func TestGoldenServed(t *testing.T) {
	c, peer := newRawPeer(t, recordmark.Config{})
	c.Serve(server(t, func(_ context.Context, c *oncrpc.Call) error {
		c.Results.BulkBytes([]byte("abcde"), nil)
		return nil
	}))
	for _, tt := range []struct{ name, call, reply string }{
		{"results", "12345678" + "00000000" + "00000002" + "20000002" + "00000003" + "00000001" + "0000000000000000" + "0000000000000000",
			"80000024" + "12345678" + "00000001" + "00000000" + "0000000000000000" + "00000000" + "00000005" + "6162636465000000"},
		{"none", "00000000" + "00000000" + "00000002" + "20000002" + "00000003" + "00000000" + "0000000000000000" + "0000000000000000",
			"80000018" + "00000000" + "00000001" + "00000000" + "0000000000000000" + "00000000"},
		{"RPC version 3", "ffffffff" + "00000000" + "00000003",
			"80000018" + "ffffffff" + "00000001" + "00000001" + "00000000" + "00000002" + "00000002"},
	} {
		call, err := hex.DecodeString(tt.call)
		if err != nil {
			t.Fatal(err)
		}
		peer.send(call)
		if got := hex.EncodeToString(peer.bytes(len(tt.reply) / 2)); got != tt.reply {
			t.Errorf("%s\n got %s\nwant %s", tt.name, got, tt.reply)
		}
	}
}

// Fragments of every size arrive intact in both directions.
func TestFragments(t *testing.T) {
	srv := server(t, echo)
	for limit := 1; limit < 80; limit++ {
		a, b := pipe(t, recordmark.Config{MaxFragment: limit},
			recordmark.Config{MaxFragment: limit})
		b.Serve(srv)
		want := data(fmt.Sprintf("%*d", 33, limit))
		got := make(data, len(want))
		if err := client(a).Call(context.Background(), 1, want, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("fragments of %d: got %q, want %q", limit, got, want)
		}
		a.Close()
	}
}

// Both ends call and serve at the same time.
func TestBothDirections(t *testing.T) {
	for _, network := range []string{"pipe", "tcp"} {
		t.Run(network, func(t *testing.T) {
			x, y := connected(t, network)
			a, b := newConn(t, x, recordmark.Config{}), newConn(t, y, recordmark.Config{})
			srv := server(t, echo)
			a.Serve(srv)
			b.Serve(srv)
			var wg sync.WaitGroup
			for i := range 20 {
				for _, c := range []*recordmark.Conn{a, b} {
					wg.Go(func() {
						want := data(bytes.Repeat([]byte{byte(i)}, i*1000))
						got := make(data, len(want))
						if err := client(c).Call(context.Background(), 1, want, got); err != nil {
							t.Error(err)
						} else if !bytes.Equal(got, want) {
							t.Errorf("call %d: wrong bytes", i)
						}
					})
				}
			}
			hang.Wait(t, "the callers", &wg)
			if s := a.Stats(); s.Calls != 20 || s.Served != 20 || s.RecordsIn != 40 || s.RecordsOut != 40 || s.BytesIn != s.BytesOut {
				t.Errorf("stats %+v", s)
			}
			if err := srv.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			hang.Receive(t, "the end of the connection", a.Done())
			hang.Receive(t, "the end of the connection", b.Done())
		})
	}
}

// connected returns both ends of a connection.
func connected(t *testing.T, network string) (net.Conn, net.Conn) {
	t.Helper()
	if network == "pipe" {
		return net.Pipe()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	x, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	y, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return x, y
}

// Handlers at both ends call back on the connection of their call, with MaxInFlight 1. The replies
// must still arrive.
func TestCallBack(t *testing.T) {
	bounce := func(ctx context.Context, c *oncrpc.Call) error {
		back := oncrpc.NewClient(c.Conn, testProgram, testVersion, oncrpc.AuthNone())
		n := c.Args.Uint32()
		var got result
		if err := back.Call(ctx, 2, &count{n + 1}, &got); err != nil {
			return err
		}
		c.Results.Uint32(got.word + 1)
		return nil
	}
	add := func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(c.Args.Uint32() + 1)
		return nil
	}
	srv := server(t, bounce, add)
	a, b := pipe(t, recordmark.Config{MaxInFlight: 1}, recordmark.Config{MaxInFlight: 1})
	a.Serve(srv)
	b.Serve(srv)
	var wg sync.WaitGroup
	for i := range uint32(4) {
		for _, c := range []*recordmark.Conn{a, b} {
			wg.Go(func() {
				var got result
				if err := client(c).Call(context.Background(), 1, &count{i}, &got); err != nil || got.word != i+3 {
					t.Errorf("got %d, %v, want %d", got.word, err, i+3)
				}
			})
		}
	}
	hang.Wait(t, "the callers", &wg)
}

// Calls on a connection that nobody serves are answered.
func TestNobodyServes(t *testing.T) {
	a, b := pipe(t, recordmark.Config{}, recordmark.Config{})
	b.Serve(server(t))
	var accept *oncrpc.AcceptError
	if err := client(a).Call(context.Background(), 0, nil, nil); err != nil { // so that a reads
		t.Fatal(err)
	}
	if err := client(b).Call(context.Background(), 0, nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProgUnavail {
		t.Errorf("got %v, want PROG_UNAVAIL", err)
	}
}

func TestShortCall(t *testing.T) {
	a, _ := pipe(t, recordmark.Config{}, recordmark.Config{})
	if err := a.RoundTrip(context.Background(), &oncrpc.Exchange{}); !errors.Is(err, xdr.ErrShort) {
		t.Errorf("got %v, want xdr.ErrShort", err)
	}
}

func TestDial(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := recordmark.Dial(ctx, "127.0.0.1:1", recordmark.Config{})
	var op *recordmark.OpError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("got %v, want a dial OpError that wraps context.Canceled", err)
	}
}
