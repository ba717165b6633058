package recordmark

import (
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// A connection that was lost, or closed with calls under way, leaves its port at once, for the one
// that replaces it. If the port is taken, that one comes from another.
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
	for name, end := range map[string]func(c *Conn, peer net.Conn){
		"closed by the peer": func(_ *Conn, peer net.Conn) { peer.Close() },
		"reset": func(_ *Conn, peer net.Conn) {
			peer.(*net.TCPConn).SetLinger(0)
			peer.Close()
		},
		"closed": func(c *Conn, _ net.Conn) { c.Close() },
	} {
		c, err := Dial(t.Context(), l.Addr().String(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		peer := hang.Receive(t, "a connection", accepted)
		call := make(chan error, 1)
		go func() { call <- oncrpc.NewClient(c, 7, 1, nil).Call(t.Context(), 0, nil, nil) }()
		if _, err := peer.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		end(c, peer)
		if err := hang.Receive(t, "the end of the call", call); err == nil {
			t.Errorf("%s: the call has succeeded", name)
		}
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
