//go:build !mpaportable

package mpa

import (
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// tick makes a tick of a writer pass, and checks whether the writer finds that the peer has
// stalled.
func tick(t *testing.T, w *writer, stalled bool) {
	t.Helper()
	w.deadline = time.Time{}
	if got := w.stalled(); got != stalled {
		t.Fatalf("stalled: %t, want %t", got, stalled)
	}
}

// A peer that takes everything has not stalled, however little that is. What it took long ago does
// not count against it.
func TestLittleIsNoStall(t *testing.T) {
	c, _ := newConn(t, ConnOptions{Stall: 30 * time.Second})
	o := &outbox{Conn: c}
	for range 3 * pace.Ticks {
		if err := o.add([]byte("fourteen bytes"), nil, 0); err != nil {
			t.Fatal(err)
		}
		tick(t, &o.out, false)
		if err := o.send(); err != nil {
			t.Fatal(err)
		}
	}
}

// A slow peer that takes enough has not stalled, even if the socket takes nothing until much of its
// content has gone. A peer that takes a little in each tick has stalled.
func TestSlowIsNoStall(t *testing.T) {
	c, peer := newConn(t, ConnOptions{Stall: 30 * time.Second})
	o := &outbox{Conn: c}
	// Keep the receive window from growing: the peer's TCP would soon take all at once.
	if err := peer.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	_ = c.rawOut.raw.Control(func(fd uintptr) { // give the socket a large buffer, as by default
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, 1<<30)
	})
	fill(t, o)
	w := &o.out
	tick(t, w, false)
	full, total := w.sys.unsent(), w.total
	if full == 0 {
		t.Fatal("a full socket holds nothing")
	}
	peer.SetReadDeadline(time.Now().Add(30 * time.Second))
	take := func() (taken int) {
		before := w.sys.unsent()
		for taken == 0 {
			if _, err := io.CopyN(io.Discard, peer, 4<<10); err != nil {
				t.Fatalf("the peer has taken all there is: %v", err)
			}
			taken = before - w.sys.unsent()
		}
		return taken
	}
	for range 3 {
		for range pace.Ticks {
			tick(t, w, false)
		}
		for taken := 0; taken < w.pace.Enough; {
			taken += take()
		}
		tick(t, w, false)
	}
	w.pace.Enough = 1 << 30
	for range pace.Ticks {
		take()
		tick(t, w, false)
	}
	take()
	tick(t, w, true)
	if w.total != total {
		t.Error("the socket has taken something: the test shows nothing")
	}
}

// TestSocketHoldsLittle: if the peer reads nothing, the socket holds only little that TCP has not
// sent.
func TestSocketHoldsLittle(t *testing.T) {
	c, _ := newConn(t, ConnOptions{})
	fill(t, &outbox{Conn: c})
	var n int
	if err := c.rawOut.raw.Control(func(fd uintptr) {
		n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQNSD)
	}); err != nil {
		t.Fatal(err)
	}
	if n < 1 || n > 2*unsentMost {
		t.Errorf("%d bytes have not been sent, want some, and %d at most", n, 2*unsentMost)
	}
}
