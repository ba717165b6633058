package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// kept is the memory of a kept reply of four bytes.
const kept = 4 + 512

// A waiting copy is answered even if the reply is not kept.
func TestOnceNotKept(t *testing.T) {
	tests := []struct {
		name string
		give func(*xdr.Encoder)
		kept bool
	}{
		{"of 4096 bytes", func(e *xdr.Encoder) { e.Fixed(make([]byte, 4096-24)) }, true},
		{"of 4100 bytes", func(e *xdr.Encoder) { e.Fixed(make([]byte, 4100-24)) }, false},
		{"with bulk data", func(e *xdr.Encoder) { e.BulkBytes([]byte("8 bytes."), nil) }, true},
		{"with much bulk data", func(e *xdr.Encoder) { e.BulkBytes(make([]byte, 4100), nil) }, false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var n counter
			open := make(chan struct{})
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
				<-open
				n.Add(1)
				tt.give(c.Results)
				return nil
			}})
			first, waiter := callFrom(t, peerA, callBytes(1, 1)), callFrom(t, peerB, callBytes(1, 1))
			dispatchIn(s, first)
			dispatchIn(s, waiter)
			close(open)
			want := <-first.reply
			got := <-waiter.reply
			if got == nil || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, the first call %d", tt.name, len(got), len(want))
			}
			dispatchFrom(t, s, peerA, callBytes(1, 1))
			if kept := n.Load() == 1; kept != tt.kept {
				t.Errorf("%s: %d executions, kept %v", tt.name, n.Load(), tt.kept)
			}
			synctest.Wait()
			if got := s.Stats().InFlight; got != 0 {
				t.Errorf("%s: %d in flight", tt.name, got)
			}
		})
	}
}

// The oldest replies are dropped first; pending calls stay.
func TestOnceEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{ReplyMemory: 3 * kept},
			oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true},
			oncrpc.Procedure{Handler: g.handle, Once: true})
		underWay := callFrom(t, peerA, callBytes(100, 2, 1))
		dispatchIn(s, underWay)
		synctest.Wait()
		for _, step := range []struct{ xid, want uint32 }{
			{1, 1}, {2, 2}, {3, 3},
			{1, 1}, {2, 2}, {3, 3}, // all are kept
			{4, 4},
			{2, 2}, {3, 3}, {4, 4}, // 1 was dropped
			{1, 5}, // now 2 is dropped, although it was used last
			{3, 3}, {4, 4}, {1, 5}, {2, 6},
		} {
			if got := binary.BigEndian.Uint32(dispatchFrom(t, s, peerA, callBytes(step.xid, 1))[24:]); got != step.want {
				t.Errorf("call %d: got %d, want %d", step.xid, got, step.want)
			}
		}
		again := callFrom(t, peerA, callBytes(100, 2, 1))
		dispatchIn(s, again)
		close(g.open)
		<-underWay.reply
		<-again.reply
		if got := g.order(); len(got) != 1 {
			t.Errorf("%d executions of the call under way, want 1", len(got))
		}
	})
}

// A host keeps its replies up to its share of the memory, whatever others do: a busy host loses its
// own oldest replies, not those of an idle one.
func TestOnceShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		const idle, busy = 4, 10_000
		s := newServer(t, oncrpc.ServerConfig{ReplyMemory: 10 * kept},
			oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true})
		executed := func(peer string, xid uint32) bool {
			before := n.Load()
			dispatchFrom(t, s, peer, callBytes(xid, 1))
			return n.Load() != before
		}
		for xid := range uint32(idle) {
			executed(peerA, xid)
		}
		for xid := range uint32(busy) {
			executed(peerC, xid)
		}
		for xid := range uint32(idle) {
			if executed(peerA, xid) {
				t.Errorf("call %d of the idle host was executed again", xid)
			}
		}
		for xid := uint32(busy - 6); xid < busy; xid++ {
			if executed(peerC, xid) {
				t.Errorf("call %d of the busy host was executed again", xid)
			}
		}
		if !executed(peerC, busy-7) {
			t.Error("more was kept than there is memory for")
		}
		// Expired replies make room.
		time.Sleep(3 * time.Minute)
		for xid := range uint32(10) {
			executed(peerC, xid)
		}
		for xid := range uint32(10) {
			if executed(peerC, xid) {
				t.Errorf("call %d was executed again, and what the idle host had counts no longer", xid)
			}
		}
	})
}

// A kept reply may be dropped while it is being sent.
func TestOnceEvictedOnItsWay(t *testing.T) {
	var n counter
	s := newServer(t, oncrpc.ServerConfig{ReplyMemory: kept}, oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true})
	want := dispatchFrom(t, s, peerA, callBytes(1, 1))
	in := callFrom(t, peerA, callBytes(1, 1))
	var message xdr.Message
	in.sent = func(m *xdr.Message) { message = *m }
	in.hold = make(chan struct{})
	dispatchIn(s, in)
	for xid := range uint32(10) {
		dispatchFrom(t, s, peerA, callBytes(100+xid, 1))
	}
	if got := message.AppendTo(nil); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	close(in.hold)
	<-in.reply
}
