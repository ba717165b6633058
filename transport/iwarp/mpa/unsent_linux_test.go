//go:build !mpaportable

package mpa

import (
	"io"
	"testing"
	"time"
)

// A slow peer that takes something has not stalled, though the socket takes nothing more until much of what it holds has gone.
func TestSlowIsNoStall(t *testing.T) {
	c, peer := newConn(t, Options{})
	o := &outbox{Conn: c}
	for before := -1; o.out.total > before; time.Sleep(10 * time.Millisecond) { // it may be full for a moment before
		before = o.out.total
		fill(t, o)
	}
	o.out.watch()
	if !o.out.stalled() {
		t.Error("a peer that has taken nothing has not stalled")
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
