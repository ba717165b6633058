package faultnet_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRelay starts a relay that ends with the test.
func newRelay(tb testing.TB, target string, cfg faultnet.Config) *faultnet.Relay {
	tb.Helper()
	r, err := faultnet.NewRelay(target, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

// relayed returns the two ends of a TCP connection through a relay, and the Link between them.
func relayed(t *testing.T, cfg faultnet.Config) (
	dialing, listening *net.TCPConn, link *faultnet.Link) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r := newRelay(t, l.Addr().String(), cfg)
	dialing, listening = connect(t, r, l)
	hang.Until(t, "the link", func() bool { return len(r.Links()) == 1 })
	return dialing, listening, r.Links()[0]
}

// connect connects through r to l.
func connect(t *testing.T, r *faultnet.Relay, l net.Listener) (dialing, listening *net.TCPConn) {
	t.Helper()
	a, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

// pattern returns n random bytes.
func pattern(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(p)
	return p
}

// write writes all of p.
func write(t *testing.T, w io.Writer, p []byte) {
	t.Helper()
	if n, err := w.Write(p); n != len(p) || err != nil {
		t.Fatalf("Write: %d bytes of %d, %v", n, len(p), err)
	}
}

// wantRead reads as many bytes as want has.
func wantRead(t *testing.T, r io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil {
		t.Fatalf("read %d bytes of %d: %v", n, len(want), err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read %d bytes that are not those that were sent", len(got))
	}
}
