package sctp

import (
	"errors"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// newTestListener returns a Listener that is closed when the test ends.
func newTestListener(t *testing.T, cfg Config) *Listener {
	t.Helper()
	cfg.UDPPort, cfg.Logger = -1, slog.New(slog.DiscardHandler)
	l, err := Listen(t.Context(), "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestInits: an INIT is answered, and leaves no state, however many come.
func TestInits(t *testing.T) {
	l := newTestListener(t, Config{})
	conn, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: l.addr.IP.AsSlice(), Port: int(l.addr.UDPPort)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(hang.Patience))
	before := runtime.NumGoroutine()
	answer := make([]byte, 1<<12)
	for i := range 1000 {
		init := initiation{
			tag: uint32(i + 1), window: 1 << 20, out: 1, in: 1, tsn: 1, indication: DDP,
		}
		p := header{src: uint16(i), dst: l.addr.Port}.append(nil)
		if _, err := conn.Write(seal(appendChunk(p, chunkInit, 0, init.append(nil)))); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(answer)
		if err != nil {
			t.Fatal(err)
		}
		h, ok := parseHeader(answer[:n])
		if c, _ := nextChunk(answer[headerLen:n]); !ok || h.tag != init.tag || !c.is(chunkInitAck) {
			t.Fatalf("got %x, want an INIT ACK", answer[:n])
		}
	}
	l.socket.mu.Lock()
	kept := len(l.socket.tags) + len(l.socket.peers) + len(l.socket.dials)
	l.socket.mu.Unlock()
	if kept > 0 || runtime.NumGoroutine() > before {
		t.Errorf("of 1,000 INITs, %d are known, and %d goroutines have begun", kept,
			runtime.NumGoroutine()-before)
	}
}

// TestMaxAssociations: a host that is alone may have half of all associations, and is refused more.
// When one ends, there is room for another.
func TestMaxAssociations(t *testing.T) {
	counters := new(Counters)
	l := newTestListener(t, Config{MaxAssociations: 4, Counters: counters})
	var conns []net.Conn
	dial := func() error {
		// A Dialer puts its sessions on one association.
		d, err := NewDialer(Config{UDPPort: int(l.addr.UDPPort), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := d.DialContext(t.Context(), "sctp", l.Addr().String())
		if err == nil {
			conns = append(conns, conn)
		}
		return err
	}
	for range 2 {
		if err := dial(); err != nil {
			t.Fatal(err)
		}
	}
	var aborted *AbortError
	if err := dial(); !errors.As(err, &aborted) || aborted.Reason != "out of resource" {
		t.Errorf("a third association: got error %v, want an *AbortError for want of resources", err)
	}
	if n := counters.Stats().Refused; n != 1 {
		t.Errorf("%d refusals are counted, want 1", n)
	}
	conns[0].Close()
	<-conns[0].(*Conn).a.over
	for deadline := time.Now().Add(hang.Patience); ; time.Sleep(time.Millisecond) {
		err := dial() // succeeds once the listener knows that the other one has ended
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for _, conn := range conns {
		conn.Close()
		<-conn.(*Conn).a.over
	}
}

// TestNoSession: an association on which the peer begins no session ends.
func TestNoSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, Config{SetupTimeout: time.Minute}, false)
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		select {
		case <-p.a.over:
			t.Error("the association has ended too early")
		default:
		}
		time.Sleep(2 * time.Nanosecond)
		<-p.a.over
	})
}
