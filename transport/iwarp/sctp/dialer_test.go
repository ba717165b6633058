package sctp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestDialerClose: when Close returns, the association has ended.
func TestDialerClose(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	l, err := Listen(t.Context(), "127.0.0.1:0", Config{UDPPort: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := NewDialer(Config{UDPPort: int(l.Addr().(Addr).UDPPort), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.DialContext(t.Context(), "sctp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := d.Close(ctx); err != nil { // there is a session, so Close does not wait
		t.Error(err)
	}
	a := conn.(*Conn).a
	select {
	case <-a.over:
		t.Fatal("an association with a session has ended")
	default:
	}
	conn.Close()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.over:
	default:
		t.Error("the association has not ended")
	}
}

// TestDialerLocal: a Dialer sends from its Local.
func TestDialerLocal(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	local := netip.MustParseAddr("127.0.0.3")
	admitted := make(chan netip.Addr, 2) // the INIT and the COOKIE ECHO
	l, err := Listen(t.Context(), "127.0.0.2:0", Config{
		UDPPort: -1, Logger: quiet,
		Admit: func(a netip.Addr) bool {
			select {
			case admitted <- a:
			default: // one of them came twice
			}
			return true
		},
	})
	if err != nil {
		t.Skip("further loopback addresses take Linux:", err)
	}
	defer l.Close()
	d, err := NewDialer(Config{
		UDPPort: int(l.Addr().(Addr).UDPPort), Local: local, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.DialContext(t.Context(), "sctp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got := <-admitted; got != local || conn.(*Conn).LocalAddr().(Addr).IP != local {
		t.Errorf("an association from %v, to itself %v; want %v", got, conn.LocalAddr(), local)
	}
	conn.Close()
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDialerStreams: sessions share one association while it has streams, and then use others.
// Ended sessions make room.
func TestDialerStreams(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	counters := new(Counters)
	l, err := Listen(t.Context(), "127.0.0.1:0",
		Config{UDPPort: -1, Streams: 2, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := NewDialer(Config{
		UDPPort: int(l.Addr().(Addr).UDPPort), Counters: counters, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	dial := func(made uint64) {
		t.Helper()
		conn, err := d.DialContext(t.Context(), "sctp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if n := counters.Stats().Associations; n != made {
			t.Errorf("%d associations for %d sessions, want %d", n, len(conns), made)
		}
	}
	for _, made := range []uint64{1, 1, 2, 2, 3} {
		dial(made)
	}
	c := conns[2].(*Conn)
	c.Close()
	<-c.finished
	dial(3)
	for _, conn := range conns {
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.associations); n != 0 {
		t.Errorf("the associations with %d addresses are kept after their end", n)
	}
}

// TestDialerEnded: a dialer whose associations all end before they have a session gives up.
func TestDialerEnded(t *testing.T) {
	d, err := NewDialer(Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort("127.0.0.1:20049")
	made := make(chan struct{})
	close(made)
	for range 2 * maxEnded {
		d.associations[to] = append(d.associations[to],
			&dialed{done: made, assoc: &association{err: ErrRestarted}})
	}
	if _, err := d.DialContext(t.Context(), "sctp", to.String()); err != ErrRestarted {
		t.Errorf("got error %v, want %v", err, ErrRestarted)
	}
	if n := len(d.associations[to]); n != maxEnded {
		t.Errorf("%d associations were tried, want %d", 2*maxEnded-n, maxEnded)
	}
}

// TestNoPort: the system's word for want of ports is an ErrNoPort. Others stay what they are.
func TestNoPort(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{{syscall.EAGAIN, true}, {syscall.EADDRINUSE, true}, {syscall.EADDRNOTAVAIL, false}} {
		err := noPort(&net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("connect", tt.err)})
		if errors.Is(err, ErrNoPort) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%v becomes %v", tt.err, err)
		}
	}
}
