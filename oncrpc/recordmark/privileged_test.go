package recordmark

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// listen listens at 127.0.0.1 until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func portOf(a net.Addr) int { return a.(*net.TCPAddr).Port }

// taking returns a port that is in use until the test ends.
func taking(t *testing.T) int {
	t.Helper()
	// At all addresses, because Windows allows the same port at different addresses.
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return portOf(l.Addr())
}

// Ports in use are skipped.
func TestDialFrom(t *testing.T) {
	server := listen(t)
	used := []int{taking(t), taking(t)}
	c, err := dialFrom(t.Context(), net.Dialer{}, server.Addr().String(), append(used, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c, err := dialFrom(t.Context(), net.Dialer{}, server.Addr().String(), used); !errors.Is(err, ErrNoPrivilegedPort) {
		t.Errorf("all ports in use: got %v, %v, want ErrNoPrivilegedPort", c, err)
	}
	if c, err := dialFrom(t.Context(), net.Dialer{}, server.Addr().String(), []int{portOf(c.LocalAddr())}); !errors.Is(err, ErrNoPrivilegedPort) {
		t.Errorf("from the port of another connection to the same server: got %v, %v, want ErrNoPrivilegedPort", c, err)
	}
}

// A refused connection is not blamed on the port.
func TestDialFromRefused(t *testing.T) {
	c, err := dialFrom(t.Context(), net.Dialer{}, deadport.New(t, "127.0.0.1").String(), []int{0, 0})
	if err == nil || errors.Is(err, ErrNoPrivilegedPort) {
		t.Errorf("got %v, %v, want another error than ErrNoPrivilegedPort", c, err)
	}
}

// The connection comes from a port below 1024, or the error says that the process may not use one.
func TestDialPrivileged(t *testing.T) {
	l := listen(t)
	c, err := DialPrivileged(t.Context(), l.Addr().String(), Config{})
	if err != nil {
		if op := (*OpError)(nil); !errors.Is(err, ErrNoPrivilegedPort) || !errors.As(err, &op) || op.Op != "dial" {
			t.Fatalf("got %v, want ErrNoPrivilegedPort in an OpError", err)
		}
		t.Log("not privileged:", err)
		return
	}
	defer func() {
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
	}()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{})
	s.Handle(oncrpc.Program{Number: 7, Version: 1, Procedures: make([]oncrpc.Procedure, 1)})
	served, err := NewConn(peer, Config{})
	if err != nil {
		t.Fatal(err)
	}
	served.Serve(s)
	defer func() {
		served.Close()
		hang.Receive(t, "the end of the server's connection", served.Done())
	}()
	if got := portOf(peer.RemoteAddr()); got < firstPrivileged || got > lastPrivileged {
		t.Errorf("called from port %d, want %d to %d", got, firstPrivileged, lastPrivileged)
	}
	if err := oncrpc.NewClient(c, 7, 1, oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
		t.Error(err)
	}
}

// Which errors mean that the process may not use the port, and which that another port may work.
func TestForbidden(t *testing.T) {
	_, err := dialFrom(t.Context(), net.Dialer{}, "127.0.0.1:1", []int{taking(t)})
	if !errors.Is(err, ErrNoPrivilegedPort) || forbidden(err) || !taken(err) {
		t.Errorf("a port in use: %v: forbidden %t, taken %t", err, forbidden(err), taken(err))
	}
	if errors.Is(err, syscall.EACCES) {
		t.Errorf("got %v, want that the port is in use", err)
	}
}

// closing is a connection that records Close.
type closing struct {
	net.Conn
	closed *bool
}

func (c closing) Close() error {
	*c.closed = true
	return c.Conn.Close()
}

// Config.Wrap replaces a dialled connection.
func TestWrap(t *testing.T) {
	addr := listen(t).Addr().String()
	for name, dial := range map[string]func(cfg Config) (*Conn, error){
		"Dial": func(cfg Config) (*Conn, error) { return Dial(t.Context(), addr, cfg) },
		"DialPrivileged": func(cfg Config) (*Conn, error) {
			return DialPrivileged(t.Context(), addr, cfg)
		},
	} {
		wrapped, closed := 0, false
		c, err := dial(Config{Wrap: func(conn net.Conn) net.Conn {
			wrapped++
			return closing{conn, &closed}
		}})
		if errors.Is(err, ErrNoPrivilegedPort) {
			t.Log("not privileged:", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
		if wrapped != 1 || !closed {
			t.Errorf("%s: wrapped %d times; closed: %t", name, wrapped, closed)
		}
	}
}
