package iwarp_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// replayWindow is a window of the initiator that the responder used.
type replayWindow struct {
	tag     transport.STag // as captured
	base    uint64
	access  transport.Access
	from    int    // where the responder's stream first uses it
	initial []byte // data to be read; differs from what will be written
}

// findWindows infers the windows from how the peer used them.
func (s *replaySession) findWindows(tb testing.TB) (windows []replayWindow) {
	tb.Helper()
	ends := map[transport.STag]uint64{}
	dead := map[transport.STag]bool{}
	use := func(i int, tag transport.STag, access transport.Access, at int, off, n uint64) {
		w := findWindow(windows, tag)
		switch {
		case dead[tag]:
			tb.Fatalf("FPDU %d: steering tag %#x is used after it was invalidated", i, tag)
		case w == nil && access == transport.RemoteInvalidate:
			tb.Fatalf("FPDU %d: steering tag %#x is invalidated without having been used", i, tag)
		case w == nil:
			windows = append(windows, replayWindow{tag: tag, base: off, from: at})
			w = &windows[len(windows)-1]
		}
		w.access |= access
		if access == transport.RemoteInvalidate {
			dead[tag] = true
			return
		}
		w.base, ends[tag] = min(w.base, off), max(ends[tag], off+n)
	}
	for i, f := range s.peer.fpdus {
		switch {
		case f.op == rdmap.OpWrite:
			use(i, f.header.STag, transport.RemoteWrite, f.start, f.header.Offset, uint64(len(f.payload)))
		case f.op == rdmap.OpReadRequest:
			r := mustReadRequest(tb, f.payload)
			use(i, r.SourceSTag, transport.RemoteRead, f.start, r.SourceOffset, uint64(r.Len))
		case f.op.Invalidates():
			use(i, transport.STag(f.header.ULP), transport.RemoteInvalidate, f.start, 0, 0)
		}
	}
	for i := range windows {
		w := &windows[i]
		w.initial = bytes.Repeat([]byte{0xa5}, int(ends[w.tag]-w.base))
	}
	responses := s.ours.ofKind(rdmap.OpReadResponse)
	for _, m := range s.peer.messages {
		switch m.op {
		case rdmap.OpWrite:
			w := findWindow(windows, m.header.STag)
			copy(w.initial[m.header.Offset-w.base:], complement(m.payload))
		case rdmap.OpReadRequest:
			r := mustReadRequest(tb, m.payload)
			w := findWindow(windows, r.SourceSTag)
			copy(w.initial[r.SourceOffset-w.base:], responses[0].payload)
			responses = responses[1:]
		}
	}
	return windows
}

func findWindow(windows []replayWindow, tag transport.STag) *replayWindow {
	for i := range windows {
		if windows[i].tag == tag {
			return &windows[i]
		}
	}
	return nil
}

func mustReadRequest(tb testing.TB, payload []byte) rdmap.ReadRequest {
	tb.Helper()
	r, err := rdmap.ParseReadRequest(payload)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// complement returns bytes that all differ from those in p.
func complement(p []byte) []byte {
	c := make([]byte, len(p))
	for i, b := range p {
		c[i] = ^b
	}
	return c
}
