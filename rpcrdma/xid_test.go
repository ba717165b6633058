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
	call := callMessage(0, procEcho, args)
	return &oncrpc.Exchange{Call: call, MaxReply: 1000, XID: xid, MayRepeat: true}
}

func roundTrip(ctx context.Context, c *rpcrdma.Conn, x *oncrpc.Exchange) chan error {
	done := make(chan error, 1)
	go func() { done <- c.RoundTrip(ctx, x) }()
	return done
}

// TestNamedXID: a call that names its transaction id has it in the header and in the message,
// wherever that is. If its connection ends, it is sent over another one as it was the first time.
func TestNamedXID(t *testing.T) {
	long := make([][]byte, 5)
	for i := range long {
		long[i] = pattern(uint64(i), 1000)
	}
	for name, data := range map[string][][]byte{
		"inline": {pattern(1, 10)}, "read chunk": {pattern(1, 500), pattern(2, 70_001)}, "long": long,
	} {
		t.Run(name, func(t *testing.T) {
			x := named(0xfffffffe, &items{data: data})
			var first []byte
			for _, ends := range []bool{true, false} {
				c, p := rawServer(t, rpcrdma.Config{}, inline4k)
				done := roundTrip(t.Context(), c, x)
				h, got := p.next()
				if len(h.Reads) > 0 {
					got = append(got, p.read(h.Reads[0].Segment)...)
				}
				if xid := binary.BigEndian.Uint32(got); h.XID != 0xfffffffe || xid != h.XID {
					t.Errorf("the header has xid %08x, the message %08x", h.XID, xid)
				}
				if ends {
					first = bytes.Clone(got)
					p.ep.Close()
					ended(t, c)
					if err := wait(t, done); err == nil {
						t.Fatal("no error")
					}
					continue
				}
				if !bytes.Equal(got, first) {
					t.Error("the second message differs from the first")
				}
				p.answer(h.XID)
				if err := wait(t, done); err != nil {
					t.Fatal(err)
				}
				x.Release()
			}
		})
	}
}

// TestNamedXIDInUse: an XID is free again once its reply has come, and not before, even if the
// caller has gone. A call that may not use it leaves no trace.
func TestNamedXIDInUse(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	callAnswered(t, c, p) // grants more than one credit
	ctx, cancel := context.WithCancel(t.Context())
	first := roundTrip(ctx, c, named(5, &items{}))
	p.next()
	var op *rpcrdma.OpError
	err := c.RoundTrip(t.Context(), named(5, &items{}))
	if !errors.Is(err, oncrpc.ErrXIDInUse) || !errors.As(err, &op) || op.Op != "call" {
		t.Errorf("a second call with the same xid: %v, want ErrXIDInUse", err)
	}
	cancel()
	checkEnd(t, wait(t, first), context.Canceled)
	again := named(5, &items{data: [][]byte{pattern(1, 9000)}})
	checkEnd(t, c.RoundTrip(t.Context(), again), oncrpc.ErrXIDInUse)
	if _, inFlight, _ := c.Credits(); inFlight != 1 {
		t.Errorf("%d credits in use, want that of the abandoned call", inFlight)
	}
	p.answer(5)
	waitFor(t, func() bool { return c.Stats().LateReplies == 1 })
	second := roundTrip(t.Context(), c, named(5, &items{}))
	if h, _ := p.next(); h.XID != 5 {
		t.Errorf("xid %08x, want 5", h.XID)
	}
	p.answer(5)
	if err := wait(t, second); err != nil {
		t.Error(err)
	}
}

// TestXIDTaken: an XID of the connection's own choice is never that of a call under way. A call
// that was laid out with such a one is laid out again.
func TestXIDTaken(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	own := func() *oncrpc.Exchange {
		x := named(0, &items{data: [][]byte{pattern(1, 9000)}})
		x.Results = [][]byte{make([]byte, 9000)}
		return x
	}
	opened := roundTrip(t.Context(), c, own())
	h, _ := p.next()
	first := h.XID
	// Grants more than one credit.
	p.answer(first)
	if err := wait(t, opened); err != nil {
		t.Fatal(err)
	}
	taken := roundTrip(t.Context(), c, named(first+1, &items{}))
	p.next()
	done := roundTrip(t.Context(), c, own())
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
		p.answer(xid)
		if err := wait(t, d); err != nil {
			t.Error(err)
		}
	}
}
