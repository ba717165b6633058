package sctp

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

// wantHeard waits until all goroutines are idle, and compares what has been sent.
func (p *peer) wantHeard(want ...string) {
	p.t.Helper()
	synctest.Wait()
	if d := cmp.Diff(want, p.heard()); d != "" {
		p.t.Errorf("sent (-want +got):\n%s", d)
	}
}

// readFrame reads a startup frame.
func readFrame(t testing.TB, c *Conn, reply bool) mpa.Frame {
	t.Helper()
	f := mpa.Frame{Reply: reply}
	if n, err := c.ReadFrame(&f); n != 1 || err != nil {
		t.Fatalf("ReadFrame: %d, %v", n, err)
	}
	return f
}

// sink records segments, and lends memory for tagged ones.
type sink struct {
	got    []string
	memory []byte // for tagged segments, indexed by their offset
	hold   bool
}

func (s *sink) Segment(p []byte) error {
	if s.hold {
		return ddp.ErrHold
	}
	h, payload, err := ddp.Parse(p)
	if err != nil {
		return err
	}
	if h.Tagged && s.memory != nil {
		copy(s.memory[h.Offset:], payload)
	}
	s.got = append(s.got, fmt.Sprintf("%x", p))
	return nil
}

func (s *sink) Unfinished() (uint64, int) { return 0, 0 }
func (s *sink) Ready() bool               { return true }
func (s *sink) ExpectsMore() bool         { return false }
func (s *sink) Return()                   {}

func (s *sink) Lend(dst [][]byte, header []byte, n, _ int) ([][]byte, bool) {
	h, _, err := ddp.Parse(header)
	if err != nil || s.memory == nil {
		return dst, false
	}
	return append(dst, s.memory[h.Offset:][:n]), true
}

func (s *sink) Placed(header []byte, n int) error {
	h, _, err := ddp.Parse(header)
	if err != nil {
		return err
	}
	s.got = append(s.got, fmt.Sprintf("%x%x", header, s.memory[h.Offset:][:n]))
	return nil
}

// Segments written by hand: of a Send of two bytes with an MSN, and of an RDMA Write of two bytes
// to an offset (RFC 5041 sections 4.2 and 4.3, RFC 5040 section 4.3).
func sendSegment(msn int, payload string) string {
	return fmt.Sprintf("41 43 00000000 00000000 %08x 00000000 %x", msn, payload)
}

func writeSegment(offset int, payload string) string {
	return fmt.Sprintf("c1 40 00000007 %016x %x", offset, payload)
}

// accepted returns a session that the peer has asked for, on stream 0.
func accepted(t *testing.T, cfg Config) (*peer, ddp.LLP) {
	t.Helper()
	p := newPeer(t, cfg, false)
	if cfg.Draft {
		p.says(0, ppidDraftSegment, writeSegment(0, ""))
	} else {
		p.says(0, ppidControl, "0000 0001")
	}
	c := <-p.offered
	readFrame(t, c, false)
	if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
		t.Fatal(err)
	}
	l := c.LLP(time.Minute)
	if cfg.Draft {
		if err := l.Receive(new(sink)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	p.heard()
	return p, l
}
