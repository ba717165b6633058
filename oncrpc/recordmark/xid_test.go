package recordmark_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// named returns a call with a given transaction id.
func named(xid uint32, bulk []byte) *oncrpc.Exchange {
	x := exchange(bulk)
	x.XID, x.MayRepeat = xid, true
	return x
}

// A call can choose its transaction id. The id is free again when the reply has arrived or nobody
// waits for it.
func TestNamedXID(t *testing.T) {
	c, peer := newRawPeer(t, recordmark.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	first := roundTrip(ctx, c, named(0xfffffffe, nil))
	if got := binary.BigEndian.Uint32(peer.record()); got != 0xfffffffe {
		t.Errorf("xid %08x, want fffffffe", got)
	}
	var op *recordmark.OpError
	if err := c.RoundTrip(context.Background(), named(0xfffffffe, nil)); !errors.Is(err, oncrpc.ErrXIDInUse) || !errors.As(err, &op) || op.Op != "call" {
		t.Errorf("a second call with the same xid: %v, want ErrXIDInUse", err)
	}
	cancel()
	if err := hang.Receive(t, "the first call", first); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for range 2 {
		x := named(0xfffffffe, nil)
		second := roundTrip(context.Background(), c, x)
		if got := binary.BigEndian.Uint32(peer.record()); got != 0xfffffffe {
			t.Errorf("xid %08x, want fffffffe", got)
		}
		peer.reply(0xfffffffe, 0)
		if err := hang.Receive(t, "the second call", second); err != nil || x.Repeated {
			t.Errorf("%v, repeated %v", err, x.Repeated)
		}
	}
	if s := c.Stats(); s.Calls != 3 {
		t.Errorf("stats %+v, want 3 calls", s)
	}
}

// A call whose connection ended is sent over another one with the same bytes.
func TestExchangeTwice(t *testing.T) {
	x := named(0x01020304, bytes.Repeat([]byte{0xcc}, 5001))
	var sent [2][]byte
	for i := range sent {
		c, peer := newRawPeer(t, recordmark.Config{})
		done := make(chan error, 1)
		go func() { done <- c.RoundTrip(context.Background(), x) }()
		sent[i] = peer.record()
		if i == 1 {
			peer.reply(0x01020304, 0)
			if err := hang.Receive(t, "the call", done); err != nil {
				t.Fatal(err)
			}
			x.Release()
			break
		}
		peer.Close()
		if err := hang.Receive(t, "the call", done); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(sent[0], sent[1]) {
		t.Error("the second message differs from the first")
	}
}

// The connection never chooses the transaction id of a pending call.
func TestXIDTaken(t *testing.T) {
	c, peer := newRawPeer(t, recordmark.Config{})
	xid := func() uint32 { return binary.BigEndian.Uint32(peer.record()) }
	var done []chan error
	call := func(x *oncrpc.Exchange) { done = append(done, roundTrip(context.Background(), c, x)) }
	call(exchange(nil))
	first := xid()
	call(named(first+1, nil))
	xid()
	call(exchange(nil))
	if got := xid(); got != first+2 {
		t.Errorf("xid %08x, want %08x", got, first+2)
	}
	for i, d := range done {
		peer.reply(first+uint32(i), 0)
		if err := hang.Receive(t, "the call", d); err != nil {
			t.Error(err)
		}
	}
}
