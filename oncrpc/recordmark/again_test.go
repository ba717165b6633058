package recordmark

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// A connection that was lost, or closed with calls that have no reply, leaves its port at once, for
// the one that replaces it. If the port is taken, that one comes from another.
func TestDialAgain(t *testing.T) {
	l := listen(t)
	accepted := make(chan net.Conn, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for name, end := range map[string]func(c *Conn, peer net.Conn, giveUp func()){
		"closed by the peer": func(_ *Conn, peer net.Conn, _ func()) { peer.Close() },
		"reset": func(_ *Conn, peer net.Conn, _ func()) {
			peer.(*net.TCPConn).SetLinger(0)
			peer.Close()
		},
		"closed":        func(c *Conn, _ net.Conn, _ func()) { c.Close() },
		"the call only": func(_ *Conn, _ net.Conn, giveUp func()) { giveUp() },
	} {
		c, err := Dial(oncrpc.WithDialFrom(t.Context(), netip.AddrPort{}), l.Addr().String(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		peer := hang.Receive(t, "a connection", accepted)
		call := make(chan error, 1)
		limited, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { call <- oncrpc.NewClient(c, 7, 1, nil).Call(limited, 0, nil, nil) }()
		if _, err := peer.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		end(c, peer, cancel)
		if err := hang.Receive(t, "the end of the call", call); err == nil {
			t.Errorf("%s: the call has succeeded", name)
		}
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
		ctx := oncrpc.WithDialFrom(t.Context(), c.CallsFrom())
		for _, same := range []bool{true, false} {
			again, err := Dial(ctx, l.Addr().String(), Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			defer hang.Receive(t, "a connection", accepted).Close()
			if got := again.CallsFrom(); (got == c.CallsFrom()) != same {
				t.Errorf("%s: from %v, was %v; want the same: %t", name, got, c.CallsFrom(), same)
			}
		}
		peer.Close()
	}
}
