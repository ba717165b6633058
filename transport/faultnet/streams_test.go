package faultnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// TestMemory: hosts of an in-memory network reach one another by their addresses, after a round
// trip.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counters faultnet.Counters
		m := faultnet.NewMemory(faultnet.Config{
			Up:       faultnet.Way{Delay: 100 * time.Millisecond},
			Down:     faultnet.Way{Delay: 50 * time.Millisecond},
			Counters: &counters,
		})
		dial := m.Dialer("10.0.0.2")
		_, err := dial(t.Context(), "tcp", "10.0.0.1:2049")
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial of nobody: %v, want %v", err, syscall.ECONNREFUSED)
		}
		if n := counters.Refused.Load(); n != 1 {
			t.Errorf("%d refused, want 1", n)
		}
		l, err := m.Listen("10.0.0.1:2049")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Listen("10.0.0.1:2049"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("second Listen: %v, want %v", err, syscall.EADDRINUSE)
		}
		began := time.Now()
		a, err := dial(t.Context(), "tcp", "10.0.0.1:2049")
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 150*time.Millisecond {
			t.Errorf("Dial took %v, want 150ms", d)
		}
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if host, _, _ := net.SplitHostPort(b.RemoteAddr().String()); host != "10.0.0.2" {
			t.Errorf("the peer is %v, want 10.0.0.2", b.RemoteAddr())
		}
		if got := a.RemoteAddr().String(); got != "10.0.0.1:2049" {
			t.Errorf("dialled %v", got)
		}
		write(t, a, []byte("hello"))
		wantRead(t, b, []byte("hello"))

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := dial(ctx, "tcp", "10.0.0.1:2049"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial: %v, want %v", err, context.DeadlineExceeded)
		}

		// The server restarts: waiting connections are reset, accepted ones stay.
		waiting, err := dial(t.Context(), "tcp", "10.0.0.1:2049")
		if err != nil {
			t.Fatal(err)
		}
		if links := m.Links(); len(links) != 2 || links[0].Number() != 1 {
			t.Errorf("%d links, want 2", len(links))
		}
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
		if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read: %v, want %v", err, syscall.ECONNRESET)
		}
		if l, err = m.Listen("10.0.0.1:2049"); err != nil {
			t.Error(err)
		}
		defer l.Close()
		write(t, b, []byte("still here"))
		wantRead(t, a, []byte("still here"))
		a.Close()
		b.Close()
		waiting.Close()
		if links := m.Links(); len(links) != 0 {
			t.Errorf("%d links are left", len(links))
		}
	})
}

// TestLate: data sent on a connection that was replaced arrives late, after data sent on the new
// one.
func TestLate(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := faultnet.NewMemory(faultnet.Config{})
			l, err := m.Listen("10.0.0.1:1")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			testLate(t, l, m.Links, func() net.Conn {
				c, err := m.Dialer("10.0.0.2")(t.Context(), "tcp", "10.0.0.1:1")
				if err != nil {
					t.Fatal(err)
				}
				return c
			})
		})
	})
	t.Run("relay", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r := newRelay(t, l.Addr().String(), faultnet.Config{})
		testLate(t, l, r.Links, func() net.Conn {
			c, err := net.Dial("tcp", r.Addr())
			if err != nil {
				t.Fatal(err)
			}
			return c
		})
	})
}

func testLate(t *testing.T, l net.Listener, links func() []*faultnet.Link, dial func() net.Conn) {
	t.Helper()
	accept := func() net.Conn {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := dial()
	firstServer := accept()
	defer firstServer.Close()
	hang.Until(t, "the link", func() bool { return len(links()) == 1 })
	old := links()[0]
	old.Freeze(faultnet.Up)
	write(t, first, []byte("old"))
	hang.Until(t, "the bytes", func() bool {
		_, n := old.Bytes(faultnet.Up)
		return n == 3
	})
	first.Close()
	second := dial()
	defer second.Close()
	secondServer := accept()
	defer secondServer.Close()
	write(t, second, []byte("new"))
	wantRead(t, secondServer, []byte("new"))
	old.Thaw(faultnet.Up)
	if p, err := io.ReadAll(firstServer); string(p) != "old" || err != nil {
		t.Errorf("read %q, %v, want what was sent first", p, err)
	}
}

// TestRelay: a relay carries bytes in both directions at once, and the ends of streams.
func TestRelay(t *testing.T) {
	way := faultnet.Way{Delay: time.Millisecond, Jitter: time.Millisecond}
	a, b, l := relayed(t, faultnet.Config{Up: way, Down: way})
	p := pattern(3 << 20)
	for _, c := range []*net.TCPConn{a, b} {
		go func() {
			c.Write(p)
			c.CloseWrite()
		}()
	}
	for _, c := range []*net.TCPConn{a, b} {
		wantRead(t, c, p)
		if n, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Read behind the end: %d bytes, %v", n, err)
		}
	}
	if passed, _ := l.Bytes(faultnet.Up); passed != int64(len(p)) {
		t.Errorf("%d bytes have passed, want %d", passed, len(p))
	}
}

// TestRelayCut: after a cut through a relay, both ends get FIN or RST.
func TestRelayCut(t *testing.T) {
	for _, tt := range []struct {
		name string
		by   faultnet.Ending
		want error
	}{{"FIN", faultnet.FIN, io.EOF}, {"RST", faultnet.RST, syscall.ECONNRESET}} {
		t.Run(tt.name, func(t *testing.T) {
			a, b, l := relayed(t, faultnet.Config{})
			write(t, a, []byte("before"))
			wantRead(t, b, []byte("before"))
			l.CutAt(faultnet.Down, 4, tt.by)
			write(t, b, []byte("downward"))
			wantRead(t, a, []byte("down"))
			for _, c := range []*net.TCPConn{a, b} {
				if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, tt.want) {
					t.Errorf("Read: %d bytes, %v, want %v", n, err, tt.want)
				}
			}
			// Data sent afterwards is not received.
			for _, c := range []*net.TCPConn{a, b} {
				hang.Until(t, "an error", func() bool {
					_, err := c.Write([]byte("x"))
					return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
				})
			}
		})
	}
}

// TestRelayCutHalf: a cut ends a half-closed connection at both ends.
func TestRelayCutHalf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := newRelay(t, l.Addr().String(), faultnet.Config{})
	a, b := connect(t, r, l)
	a.CloseWrite()
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("Read: %v, want %v", err, io.EOF)
	}
	r.Links()[0].Cut(faultnet.RST)
	hang.Until(t, "the end", func() bool { return len(r.Links()) == 0 })
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v, want %v", err, syscall.ECONNRESET)
	}
}

// TestRelayCloseBehindData: data sent before a close arrives, even if the other end's data finds
// the connection closed meanwhile.
func TestRelayCloseBehindData(t *testing.T) {
	a, b, l := relayed(t, faultnet.Config{Up: faultnet.Way{Buffer: 1000}})
	l.Freeze(faultnet.Up)
	p := pattern(50_000)
	write(t, a, p)
	hang.Until(t, "the bytes", func() bool {
		_, n := l.Bytes(faultnet.Up)
		return n == 1000
	})
	a.Close()
	var last int64
	same := 0
	hang.Until(t, "the relay to notice", func() bool { // afterwards it forwards nothing
		b.Write(make([]byte, 10))
		passed, _ := l.Bytes(faultnet.Down)
		if same++; passed != last {
			last, same = passed, 0
		}
		return same > 10
	})
	b.SetWriteDeadline(time.Now().Add(30 * time.Second))
	write(t, b, make([]byte, 8<<20)) // lost: b need not read to make room
	l.Thaw(faultnet.Up)
	wantRead(t, b, p)
	if n, err := b.Read(make([]byte, 1)); err == nil { // FIN, or the reset after it
		t.Errorf("Read: %d bytes, want the end", n)
	}
}

// TestRelayReset: a reset by one end reaches the other, after the data sent before it.
func TestRelayReset(t *testing.T) {
	a, b, _ := relayed(t, faultnet.Config{Up: faultnet.Way{Delay: time.Millisecond}})
	write(t, a, []byte("last words"))
	wantRead(t, b, []byte("last"))
	a.SetLinger(0)
	a.Close()
	wantRead(t, b, []byte(" words"))
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v, want %v", err, syscall.ECONNRESET)
	}
}

// TestRelayResetBehindData: a reset overtakes nothing, however many packets are ahead of it.
func TestRelayResetBehindData(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a relay knows what has arrived on Linux alone")
	}
	p := pattern(30_000)
	a, b, _ := relayed(t, faultnet.Config{
		Up:     faultnet.Way{MaxSegment: 100},
		OnLink: func(l *faultnet.Link) { l.CutAt(faultnet.Up, int64(len(p)), faultnet.RST) },
	})
	write(t, a, p)
	wantRead(t, b, p)
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v, want %v", err, syscall.ECONNRESET)
	}
}

// TestRelayClosed: one end closes while the other still sends. The sender gets a reset.
func TestRelayClosed(t *testing.T) {
	a, b, _ := relayed(t, faultnet.Config{})
	a.Close()
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("Read: %v, want %v", err, io.EOF)
	}
	hang.Until(t, "an error", func() bool {
		_, err := b.Write(make([]byte, 1000))
		return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	})
}

// TestRelayVanish: in a half-open connection through a relay, one end is reset, and the other does
// not notice.
func TestRelayVanish(t *testing.T) {
	a, b, l := relayed(t, faultnet.Config{})
	l.Vanish(faultnet.DialingEnd)
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v, want %v", err, syscall.ECONNRESET)
	}
	write(t, b, []byte("anybody?"))
	hang.Until(t, "the bytes", func() bool {
		_, n := l.Bytes(faultnet.Down)
		return n == 8
	})
	b.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if n, err := b.Read(make([]byte, 1)); err == nil || !err.(net.Error).Timeout() {
		t.Errorf("the other end reads %d bytes, %v, want nothing", n, err)
	}
}

// TestRelayRefused: the target does not exist.
func TestRelayRefused(t *testing.T) {
	var counters faultnet.Counters
	r := newRelay(t, deadport.New(t, "127.0.0.1").String(), faultnet.Config{Counters: &counters})
	c, err := net.Dial("tcp", r.Addr())
	if err == nil { // it may have noticed already
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want %v", err, syscall.ECONNRESET)
	}
	if n := counters.Refused.Load(); n != 1 {
		t.Errorf("%d refused, want 1", n)
	}
}

// TestRelayClose: Close also ends frozen connections.
func TestRelayClose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := faultnet.NewRelay(l.Addr().String(), faultnet.Config{
		OnLink: func(l *faultnet.Link) { l.Freeze(faultnet.Up, faultnet.Down) },
	})
	if err != nil {
		t.Fatal(err)
	}
	a, b := connect(t, r, l)
	write(t, a, []byte("frozen"))
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []*net.TCPConn{a, b} {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlives its relay")
		}
	}
}
