package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Replies that are not kept: the call that waits gets a copy of a long one; bulk data it cannot have.
func TestOnceNotKept(t *testing.T) {
	tests := []struct {
		name string
		give func(*xdr.Encoder)
		kept bool
		drop bool
	}{
		{"of 4096 bytes", func(e *xdr.Encoder) { e.Fixed(make([]byte, 4096-24)) }, true, false},
		{"of 4100 bytes", func(e *xdr.Encoder) { e.Fixed(make([]byte, 4100-24)) }, false, false},
		{"with bulk data", func(e *xdr.Encoder) { e.BulkBytes(make([]byte, 8), nil) }, false, true},
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
			oncrpc.DispatcherOf(s).Dispatch(first)
			oncrpc.DispatcherOf(s).Dispatch(waiter)
			close(open)
			want := <-first.reply
			got := <-waiter.reply
			if tt.drop != (got == nil) || got != nil && !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, the first call %d, drop %v", tt.name, len(got), len(want), tt.drop)
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

// The oldest replies go first; calls under way stay.
func TestOnceEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{ReplyCache: 3},
			oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true},
			oncrpc.Procedure{Handler: g.handle, Once: true})
		underWay := callFrom(t, peerA, callBytes(100, 2, 1))
		oncrpc.DispatcherOf(s).Dispatch(underWay)
		synctest.Wait()
		for _, step := range []struct{ xid, want uint32 }{
			{1, 1}, {2, 2}, {3, 3},
			{1, 1}, {2, 2}, {3, 3}, // all kept
			{4, 4},
			{2, 2}, {3, 3}, {4, 4}, // 1 has gone
			{1, 5}, // and 2 now, though used last
			{3, 3}, {4, 4}, {1, 5}, {2, 6},
		} {
			if got := binary.BigEndian.Uint32(dispatchFrom(t, s, peerA, callBytes(step.xid, 1))[24:]); got != step.want {
				t.Errorf("call %d: got %d, want %d", step.xid, got, step.want)
			}
		}
		again := callFrom(t, peerA, callBytes(100, 2, 1))
		oncrpc.DispatcherOf(s).Dispatch(again)
		close(g.open)
		<-underWay.reply
		<-again.reply
		if got := g.order(); len(got) != 1 {
			t.Errorf("%d executions of the call under way, want 1", len(got))
		}
	})
}

// A kept reply may be on its way still when its place is taken.
func TestOnceEvictedOnItsWay(t *testing.T) {
	var n counter
	s := newServer(t, oncrpc.ServerConfig{ReplyCache: 1}, oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true})
	want := dispatchFrom(t, s, peerA, callBytes(1, 1))
	in := callFrom(t, peerA, callBytes(1, 1))
	var message xdr.Message
	in.sent = func(m *xdr.Message) { message = *m }
	in.hold = make(chan struct{})
	oncrpc.DispatcherOf(s).Dispatch(in)
	for xid := range uint32(10) {
		dispatchFrom(t, s, peerA, callBytes(100+xid, 1))
	}
	if got := message.AppendTo(nil); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	close(in.hold)
	<-in.reply
}
