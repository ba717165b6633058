package host

import (
	"context"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// congestion returns the congestion control of a connection.
func congestion(t *testing.T, c net.Conn) string {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Error(err)
		return ""
	}
	var name string
	err = raw.Control(func(fd uintptr) {
		var failed error
		if name, failed = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); failed != nil {
			t.Error(failed)
		}
	})
	if err != nil {
		t.Error(err)
	}
	return name
}

// TestSockets: a listening socket is set up, and accepted sockets inherit this. So is a dialing
// socket.
func TestSockets(t *testing.T) {
	s := Sockets{Congestion: "reno"}
	l, err := (&net.ListenConfig{Control: s.Control}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := (&net.Dialer{Control: s.Control}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	for name, c := range map[string]net.Conn{"dialing": dialed, "accepting": accepted} {
		if got := congestion(t, c); got != s.Congestion {
			t.Errorf("%s: got %q, want %q", name, got, s.Congestion)
		}
	}
	s.Congestion = "no such thing"
	_, err = (&net.Dialer{Control: s.Control}).DialContext(context.Background(), "tcp", l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), `congestion control "no such thing"`) {
		t.Errorf("got error %v, want it to name what is missing", err)
	}
}
