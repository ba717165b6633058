package rping

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAdvert(t *testing.T) {
	want := Advert{Offset: 0x5587e64aed50, STag: 0xdd96fa00, Size: 64}
	b := want.Append(nil)
	if got := hex.EncodeToString(b); got != "00005587e64aed50"+"dd96fa00"+"00000040" {
		t.Errorf("Append: got %s", got)
	}
	got, err := ParseAdvert(b)
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("ParseAdvert: error %v, diff (-want +got):\n%s", err, diff)
	}
	for n := range b {
		if _, err := ParseAdvert(b[:n]); err == nil {
			t.Errorf("ParseAdvert took %d bytes", n)
		}
	}
	if _, err := ParseAdvert(append(b, 0)); err == nil {
		t.Error("ParseAdvert took 17 bytes")
	}
}

// The first two are what rping printed.
func TestData(t *testing.T) {
	tests := []struct {
		ping, size int
		want       string
	}{
		{0, 64, "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\x00"},
		{1, 64, "rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs\x00"},
		{56, 27, "rdma-ping-56: yzABCDEFGHIJ\x00"},
		{57, 27, "rdma-ping-57: zABCDEFGHIJK\x00"},
		{58, 27, "rdma-ping-58: ABCDEFGHIJKL\x00"},
	}
	for _, tt := range tests {
		if got := string(Data(tt.ping, tt.size)); got != tt.want {
			t.Errorf("Data(%d, %d): got %q, want %q", tt.ping, tt.size, got, tt.want)
		}
	}
	if got := len(Data(0, MaxSize)); got != MaxSize {
		t.Errorf("%d bytes of data, want %d", got, MaxSize)
	}
}

func TestVerify(t *testing.T) {
	for _, at := range []int{0, 30, 63} {
		b := Data(7, 64)
		if err := verify(b, 7); err != nil {
			t.Error(err)
		}
		b[at] ^= 1
		if err := verify(b, 7); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("byte %d of 64", at)) {
			t.Errorf("byte %d was changed, got error %v", at, err)
		}
	}
}

// pair returns the ends of a connection: the client's and the server's.
func pair(t *testing.T) (context.Context, transport.Endpoint, transport.Endpoint) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	fabric := loopback.New()
	l, err := fabric.Listen("", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan transport.Endpoint, 1)
	go func() {
		defer close(accepted)
		if req, err := l.Accept(ctx); err == nil {
			if ep, err := req.Accept(ctx, nil); err == nil {
				accepted <- ep
			}
		}
	}()
	ep, err := fabric.Dialer(loopback.Config{}).Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n, bytes := fabric.Domain().Allocated(); n != 0 {
			t.Errorf("%d pieces of provider memory leaked, %d bytes", n, bytes)
		}
	})
	return ctx, ep, <-accepted
}

// outcome is the result of an end.
type outcome struct {
	pings int
	err   error
}

func run(end func(context.Context, transport.Endpoint, Options) (int, error), ctx context.Context, ep transport.Endpoint, o Options) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		n, err := end(ctx, ep, o)
		c <- outcome{n, err}
	}()
	return c
}

func TestPing(t *testing.T) {
	for _, tt := range []Options{
		{Count: 1},
		{Count: 3, Size: MinSize},
		{Count: 100, Size: 1000},
		{Count: 2, Size: MaxSize},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", tt.Count, tt.Size), func(t *testing.T) {
			ctx, a, b := pair(t)
			var here, there bytes.Buffer
			server := run(Serve, ctx, b, Options{Verify: true, Print: &there})
			tt.Verify, tt.Print = true, &here
			client := run(Client, ctx, a, tt)
			for _, c := range []<-chan outcome{client, server} {
				if got := <-c; got.err != nil || got.pings != tt.Count {
					t.Errorf("%d pings, error %v; want %d", got.pings, got.err, tt.Count)
				}
			}
			var want strings.Builder
			for n := range tt.Count {
				fmt.Fprintf(&want, "ping data: %s\n", text(Data(n, cmp.Or(tt.Size, DefaultSize))))
			}
			if diff := gocmp.Diff(want.String(), here.String()); diff != "" {
				t.Errorf("the client printed (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(strings.ReplaceAll(want.String(), "ping data:", "server ping data:"), there.String()); diff != "" {
				t.Errorf("the server printed (-want +got):\n%s", diff)
			}
		})
	}
}

// Without a count it runs until it is stopped.
func TestEndless(t *testing.T) {
	ctx, a, b := pair(t)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	server := run(Serve, ctx, b, Options{Verify: true})
	after := &after{lines: 10, then: cancel}
	if got := <-run(Client, stop, a, Options{Verify: true, Print: after}); got.err != nil || got.pings < 10 {
		t.Errorf("%d pings, error %v; want 10 or more", got.pings, got.err)
	}
	<-server // which may have been in the middle of a ping
}

// after calls a function when a number of lines has been written.
type after struct {
	lines int
	then  func()
}

func (a *after) Write(p []byte) (int, error) {
	if a.lines--; a.lines == 0 {
		a.then()
	}
	return len(p), nil
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Size: MinSize - 1}, {Size: MaxSize + 1}, {Size: -1}, {Count: -1}} {
		ctx, a, b := pair(t)
		if n, err := Client(ctx, a, o); err == nil || n != 0 {
			t.Errorf("%+v: %d pings, error %v", o, n, err)
		}
		b.Close()
		<-a.Done()
	}
}

// TestServerRefuses: if a peer breaks the protocol, the server gets an error and the connection
// ends.
func TestServerRefuses(t *testing.T) {
	tests := []struct {
		name string
		do   func(ctx context.Context, c *conn) error
		want string
	}{
		{"short message", func(_ context.Context, c *conn) error {
			return c.send(transport.Slice{Bytes: make([]byte, advertLen-1)})
		}, "a message of 15 bytes"},
		{"large source", func(_ context.Context, c *conn) error {
			return c.advertise(Data(0, MaxSize+1), transport.RemoteRead)
		}, "size 65536"},
		{"small source", func(_ context.Context, c *conn) error {
			return c.advertise(Data(0, MinSize-1), transport.RemoteRead)
		}, "size 22"},
		{"wrong data", func(_ context.Context, c *conn) error {
			return c.advertise(Data(1, 64), transport.RemoteRead)
		}, "data mismatch: byte 10 of 64"},
		{"small sink", func(ctx context.Context, c *conn) error {
			if err := c.advertise(Data(0, 64), transport.RemoteRead); err != nil {
				return err
			}
			if _, err := c.receive(ctx); err != nil {
				return err
			}
			return c.advertise(make([]byte, 63), transport.RemoteWrite)
		}, "64 bytes for a sink buffer of 63"},
		{"end in the middle", func(ctx context.Context, c *conn) error {
			if err := c.advertise(Data(0, 64), transport.RemoteRead); err != nil {
				return err
			}
			_, err := c.receive(ctx)
			c.ep.Close()
			return err
		}, transport.ErrClosedByPeer.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, a, b := pair(t)
			server := run(Serve, ctx, b, Options{Verify: true})
			c, err := open(a)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.do(ctx, c); err != nil {
				t.Error(err)
			}
			if got := <-server; got.pings != 0 || got.err == nil || !strings.Contains(got.err.Error(), tt.want) {
				t.Errorf("%d pings, error %v; want %q", got.pings, got.err, tt.want)
			}
			c.close()
		})
	}
}

// advertise sends the place of a copy of data.
func (c *conn) advertise(data []byte, access transport.Access) error {
	s, err := c.alloc(len(data), access)
	if err != nil {
		return err
	}
	copy(s.Bytes, data)
	msg, err := c.expose(s, access)
	if err != nil {
		return err
	}
	return c.send(msg)
}

// A server that answers with other data, or with none, is found out.
func TestClientVerifies(t *testing.T) {
	for name, back := range map[string][]byte{"nothing": nil, "other data": Data(1, 64), "too little": Data(0, 64)[:62]} {
		t.Run(name, func(t *testing.T) {
			ctx, a, b := pair(t)
			client := run(Client, ctx, a, Options{Count: 1, Verify: true})
			c, err := open(b)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			goAhead := transport.Slice{Bytes: make([]byte, advertLen)}
			if _, err := c.receive(ctx); err != nil {
				t.Fatal(err)
			}
			c.send(goAhead)
			sink, err := c.receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.move(ctx, transport.OpWrite, sink, transport.Slice{Bytes: back}); err != nil {
				t.Fatal(err)
			}
			c.send(goAhead)
			if got := <-client; got.err == nil || !strings.Contains(got.err.Error(), "data mismatch") {
				t.Errorf("error %v, want a mismatch", got.err)
			}
		})
	}
}

// An end that waits for a peer that says nothing leaves when its context ends.
func TestContext(t *testing.T) {
	for name, end := range map[string]func(context.Context, transport.Endpoint, Options) (int, error){"client": Client, "server": Serve} {
		t.Run(name, func(t *testing.T) {
			ctx, a, b := pair(t)
			if name == "server" {
				a, b = b, a
			}
			silent, err := open(b)
			if err != nil {
				t.Fatal(err)
			}
			defer silent.close()
			ctx, cancel := context.WithCancel(ctx)
			got := run(end, ctx, a, Options{Count: 1})
			cancel()
			if got := <-got; !errors.Is(got.err, context.Canceled) {
				t.Errorf("error %v, want that of the context", got.err)
			}
		})
	}
}
