package rpcrdma_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// named returns a call with a given XID.
func named(xid uint32, args *items) *oncrpc.Exchange {
	return &oncrpc.Exchange{Call: callMessage(0, procEcho, args), MaxReply: 1000, XID: xid, MayRepeat: true}
}

func roundTrip(ctx context.Context, c *rpcrdma.Conn, x *oncrpc.Exchange) chan error {
	done := make(chan error, 1)
	go func() { done <- c.RoundTrip(ctx, x) }()
	return done
}

// A call that names its transaction id has it in the header and in the message, wherever that is.
func TestNamedXID(t *testing.T) {
	tests := []struct {
		name string
		args *items
		long bool
	}{
		{name: "inline", args: &items{data: [][]byte{pattern(1, 10)}}},
		{name: "read chunk", args: &items{data: [][]byte{pattern(1, 70_001)}}},
		{name: "long", args: &items{data: [][]byte{pattern(1, 1000), pattern(2, 1000), pattern(3, 1000), pattern(4, 1000), pattern(5, 1000)}}, long: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{}, inline4k)
			x := named(0xfffffffe, tt.args)
			done := roundTrip(context.Background(), c, x)
			h, body := p.next()
			if h.XID != 0xfffffffe {
				t.Errorf("the header has xid %08x", h.XID)
			}
			if tt.long {
				body = p.read(h.Reads[0].Segment)
			}
			if got := binary.BigEndian.Uint32(body); got != 0xfffffffe {
				t.Errorf("the message has xid %08x", got)
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, done); err != nil {
				t.Fatal(err)
			}
			x.Release()
			if x.Repeated {
				t.Error("Repeated is set")
			}
		})
	}
}

// TestNamedXIDInUse: an XID is free again once its reply has come, and not before, even if the
// caller has gone. A call that may not use it leaves no trace.
func TestNamedXIDInUse(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	opened := roundTrip(context.Background(), c, named(1, &items{}))
	h, _ := p.next()
	// Grants more than one credit.
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, opened); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	first := roundTrip(ctx, c, named(5, &items{}))
	p.next()
	var op *rpcrdma.OpError
	if err := c.RoundTrip(context.Background(), named(5, &items{})); !errors.Is(err, oncrpc.ErrXIDInUse) || !errors.As(err, &op) || op.Op != "call" {
		t.Errorf("a second call with the same xid: %v, want ErrXIDInUse", err)
	}
	cancel()
	if err := wait(t, first); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := c.RoundTrip(context.Background(), named(5, &items{data: [][]byte{pattern(1, 9000)}})); !errors.Is(err, oncrpc.ErrXIDInUse) {
		t.Errorf("a call with the xid of an abandoned one: %v, want ErrXIDInUse", err)
	}
	if _, inFlight, _ := c.Credits(); inFlight != 1 {
		t.Errorf("%d credits in use, want that of the abandoned call", inFlight)
	}
	p.send(header(5, rpcrdma.TypeMsg), replyHeader(5), be32(0, 7))
	waitFor(t, func() bool { return c.Stats().LateReplies == 1 })
	second := roundTrip(context.Background(), c, named(5, &items{}))
	if h, _ := p.next(); h.XID != 5 {
		t.Errorf("xid %08x, want 5", h.XID)
	}
	p.send(header(5, rpcrdma.TypeMsg), replyHeader(5), be32(0, 7))
	if err := wait(t, second); err != nil {
		t.Error(err)
	}
}

// TestExchangeTwice: a call whose connection ended is sent over another one as it was the first
// time.
func TestExchangeTwice(t *testing.T) {
	args := &items{data: [][]byte{pattern(1, 500), pattern(2, 9000)}}
	x := named(0x01020304, args)
	var sent, moved [2][]byte
	for i := range sent {
		c, p := rawServer(t, rpcrdma.Config{}, inline4k)
		done := roundTrip(context.Background(), c, x)
		h, body := p.next()
		sent[i], moved[i] = bytes.Clone(body), p.read(h.Reads[0].Segment)
		if i == 1 {
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, done); err != nil {
				t.Fatal(err)
			}
			x.Release()
			break
		}
		p.ep.Close()
		ended(t, c)
		if err := wait(t, done); err == nil {
			t.Fatal("no error")
		}
	}
	if !bytes.Equal(sent[0], sent[1]) || !bytes.Equal(moved[0], moved[1]) || !bytes.Equal(moved[1], args.data[1]) {
		t.Error("the second message differs from the first")
	}
}

// A transaction id of the connection's own choice is never that of a call under way: a call that
// was laid out with such a one is laid out again.
func TestXIDTaken(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	own := func() *oncrpc.Exchange {
		x := named(0, &items{data: [][]byte{pattern(1, 9000)}})
		x.Results = [][]byte{make([]byte, 9000)}
		return x
	}
	opened := roundTrip(context.Background(), c, own())
	h, _ := p.next()
	first := h.XID
	// Grants more than one credit.
	p.send(header(first, rpcrdma.TypeMsg), replyHeader(first), be32(0, 7))
	if err := wait(t, opened); err != nil {
		t.Fatal(err)
	}
	taken := roundTrip(context.Background(), c, named(first+1, &items{}))
	p.next()
	done := roundTrip(context.Background(), c, own())
	h, body := p.next()
	if got := binary.BigEndian.Uint32(body); h.XID != first+2 || got != first+2 {
		t.Errorf("xid %08x, in the message %08x; want %08x", h.XID, got, first+2)
	}
	if len(h.Reads) != 1 || len(h.Writes) != 1 {
		t.Fatalf("%d read segments, %d write chunks; want one of each", len(h.Reads), len(h.Writes))
	}
	if got := p.read(h.Reads[0].Segment); !bytes.Equal(got, pattern(1, 9000)) {
		t.Error("other data")
	}
	for i, d := range []chan error{taken, done} {
		xid := first + 1 + uint32(i)
		p.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
		if err := wait(t, d); err != nil {
			t.Error(err)
		}
	}
}
