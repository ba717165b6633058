package recordmark_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

func TestOpError(t *testing.T) {
	peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 2049}
	for _, tt := range []struct {
		err     recordmark.OpError
		text    string
		timeout bool
	}{
		{recordmark.OpError{Op: "read", Peer: peer, Err: recordmark.ErrClosedByPeer},
			"recordmark read 192.0.2.1:2049: closed by peer: use of closed network connection", false},
		{recordmark.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "recordmark dial: i/o timeout", true},
		{recordmark.OpError{Op: "call", Peer: peer, Err: context.DeadlineExceeded},
			"recordmark call 192.0.2.1:2049: context deadline exceeded", true},
	} {
		if got := tt.err.Error(); got != tt.text {
			t.Errorf("got %q, want %q", got, tt.text)
		}
		if tt.err.Timeout() != tt.timeout || !errors.Is(&tt.err, tt.err.Err) {
			t.Errorf("%v: timeout %v, want %v", tt.text, tt.err.Timeout(), tt.timeout)
		}
	}
}

// Addresses are those of the net.Conn.
func TestAddresses(t *testing.T) {
	x, y := connected(t, "tcp")
	a, b := newConn(t, x, recordmark.Config{}), newConn(t, y, recordmark.Config{})
	if a.LocalAddr().String() != b.RemoteAddr().String() || a.RemoteAddr().String() != b.LocalAddr().String() {
		t.Errorf("%v to %v, and %v to %v", a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
	}
	for _, c := range []*recordmark.Conn{a, b} { // never used
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
		c.Close()
	}
}
