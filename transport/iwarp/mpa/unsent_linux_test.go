//go:build !mpaportable

package mpa

import (
	"io"
	"testing"
	"time"
)

// A slow peer that takes something has not stalled, though the socket takes nothing more until much of what it holds has gone.
func TestSlowIsNoStall(t *testing.T) {
	c, peer := newConn(t, ConnOptions{})
	o := &outbox{Conn: c}
	fill(t, o)
	o.out.watch()
	if o.out.unsent == 0 {
		t.Fatal("a full socket holds nothing")
	}
	peer.SetReadDeadline(time.Now().Add(10 * time.Second))
	for o.out.stalled() {
		if _, err := io.CopyN(io.Discard, peer, 4<<10); err != nil {
			t.Fatalf("a peer that has taken all there is has stalled: %v", err)
		}
	}
	if o.out.total != o.out.seen {
		t.Error("the socket has taken something: the test shows nothing")
	}
}
