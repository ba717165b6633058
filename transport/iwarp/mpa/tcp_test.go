package mpa

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// tcpPair returns both ends of a TCP connection.
func tcpPair(t tester) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); d.Close() })
	return Timed(c.(*net.TCPConn)), Timed(d.(*net.TCPConn))
}

// newConn returns a Conn and its peer, a plain TCP connection. Without o.Stall nothing ever stalls.
func newConn(t tester, o ConnOptions) (*Conn, *net.TCPConn) {
	t.Helper()
	tcp, peer := tcpPair(t)
	return connOver(t, tcp, o), peer
}

// connOver returns a Conn over tcp, and closes it when the test ends. If it were left to the
// garbage collector, its buffer might count as kept (maxKept) for ever.
func connOver(t tester, tcp *net.TCPConn, o ConnOptions) *Conn {
	t.Helper()
	if o.Stall == 0 {
		o.Stall = time.Hour
	}
	c, err := NewConn(tcp, o)
	if err != nil {
		t.Fatal(err)
	}
	interruptHung(t, c)
	t.Cleanup(func() {
		c.Close(false)
		if c.in.buf != nil || c.in.kept {
			t.Error("a closed connection holds a buffer")
		}
	})
	return c
}

// modest is the part of a ddp.Sink that holds nothing up, expects nothing, and lends nothing.
type modest struct{}

func (modest) Ready() bool                                            { return true }
func (modest) Unfinished() (uint64, int)                              { return 0, 0 }
func (modest) ExpectsMore() bool                                      { return false }
func (modest) Lend(dst [][]byte, _ []byte, _, _ int) ([][]byte, bool) { return dst, false }
func (modest) Return()                                                {}
func (modest) Placed([]byte, int) error                               { return nil }

// collector keeps copies of what it gets.
type collector struct {
	modest
	ulpdus [][]byte
	bytes  int // of their FPDUs
	err    error
}

func (s *collector) Segment(segment []byte) error {
	s.ulpdus = append(s.ulpdus, append([]byte{}, segment...))
	s.bytes += fpduSize(len(segment))
	return s.err
}

// diffULPDUs returns the differences between got and want.
func diffULPDUs(want, got [][]byte) string {
	if slices.EqualFunc(want, got, bytes.Equal) {
		return ""
	}
	return cmp.Diff(want, got) // slow, so only on a difference
}

// receiveUntil receives until n bytes in all have come, delivered to the sink or in an incomplete
// FPDU.
func receiveUntil(t testing.TB, c *Conn, s *collector, n int) {
	t.Helper()
	for s.bytes+c.in.pending() < n {
		if err := c.Receive(s); err != nil {
			t.Fatalf("behind %d bytes of %d: %v", s.bytes+c.in.pending(), n, err)
		}
	}
}

// receiveAll receives until there is an error.
func receiveAll(c *Conn, s ddp.Sink) error {
	for {
		if err := c.Receive(s); err != nil {
			return err
		}
	}
}

// write makes the peer send.
func write(t testing.TB, peer *net.TCPConn, p []byte) {
	t.Helper()
	if _, err := peer.Write(p); err != nil {
		t.Error(err)
	}
}

// hangUp makes the peer send, and close its side.
func hangUp(t testing.TB, peer *net.TCPConn, p []byte) {
	t.Helper()
	write(t, peer, p)
	if err := peer.CloseWrite(); err != nil {
		t.Error(err)
	}
}

// drain returns what the peer gets until the end.
func drain(peer io.Reader) <-chan []byte {
	c := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(peer)
		c <- b
	}()
	return c
}
