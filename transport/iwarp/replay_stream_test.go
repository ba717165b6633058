package iwarp_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// capturedStream is what one side of a captured connection sent. Positions are in bytes from its
// beginning, startup frame included.
type capturedStream struct {
	startup  []byte
	frame    mpa.Frame
	enhanced mpa.EnhancedData
	private  []byte // the upper layer's
	fpdus    []capturedFPDU
	messages []capturedMessage
	len      int
}

type capturedFPDU struct {
	capture.FPDU
	start, end int
	header     ddp.Header
	op         rdmap.Opcode
	payload    []byte
}

// capturedMessage is an assembled DDP message.
type capturedMessage struct {
	op         rdmap.Opcode
	header     ddp.Header // of the first segment
	payload    []byte
	start, end int
}

func parseCapturedStream(tb testing.TB, stream []byte) *capturedStream {
	tb.Helper()
	startup, fpdus := capture.Split(tb, stream)
	s := &capturedStream{startup: startup, len: len(stream)}
	var n int
	var err error
	if s.frame, n, err = mpa.ParseFrame(startup); err != nil || n != len(startup) {
		tb.Fatalf("startup frame: %d bytes of %d, %v", n, len(startup), err)
	}
	if s.enhanced, s.private, err = mpa.ParseEnhancedData(s.frame.PrivateData); err != nil {
		tb.Fatal(err)
	}
	at := len(startup)
	open := false
	for i, f := range fpdus {
		h, payload, err := ddp.Parse(f.ULPDU)
		if err != nil {
			tb.Fatalf("FPDU %d: %v", i, err)
		}
		_, op := rdmap.ParseControl(h.Control)
		s.fpdus = append(s.fpdus, capturedFPDU{f, at, at + len(f.Raw), h, op, payload})
		if !open {
			s.messages = append(s.messages, capturedMessage{op: op, header: h, start: at})
		}
		m := &s.messages[len(s.messages)-1]
		if !continues(m, &h, op) {
			tb.Fatalf("FPDU %d: a %v segment inside a %v message", i, op, m.op)
		}
		at += len(f.Raw)
		m.payload, m.end = append(m.payload, payload...), at
		open = !h.Last
	}
	if open {
		tb.Fatal("the last message is incomplete")
	}
	return s
}

// withMarkers returns the stream with a startup frame that asks for markers. Positions do not count
// the markers.
func (s *capturedStream) withMarkers() *capturedStream {
	marked := *s
	marked.startup = bytes.Clone(s.startup)
	marked.startup[16] |= 0x80 // M
	return &marked
}

// continues reports whether a segment continues the message.
func continues(m *capturedMessage, h *ddp.Header, op rdmap.Opcode) bool {
	if h.Tagged {
		return op == m.op && h.STag == m.header.STag && h.Offset == m.header.Offset+uint64(len(m.payload))
	}
	return op == m.op && h.Queue == m.header.Queue && h.MSN == m.header.MSN && h.MO == uint32(len(m.payload))
}

// mulpdu returns the length of all segments of a message but the last.
func (s *capturedStream) mulpdu(tb testing.TB) int {
	tb.Helper()
	n := 0
	for i, f := range s.fpdus {
		switch {
		case f.header.Last && (n == 0 || len(f.ULPDU) <= n):
		case f.header.Last:
			tb.Fatalf("FPDU %d: a segment of %d bytes, others have %d", i, len(f.ULPDU), n)
		case n != 0 && n != len(f.ULPDU):
			tb.Fatalf("FPDU %d: not the last segment, and of %d bytes, others of %d", i, len(f.ULPDU), n)
		default:
			n = len(f.ULPDU)
		}
	}
	return n
}

// sends returns the messages that use receives of the other side.
func (s *capturedStream) sends() (sends []*capturedMessage) {
	for i := range s.messages {
		if m := &s.messages[i]; isSend(m.op) {
			sends = append(sends, m)
		}
	}
	return sends
}

func isSend(op rdmap.Opcode) bool { return !op.Tagged() && op.Queue() == ddp.QueueSend && op.Valid() }

// ofKind returns the messages of one opcode.
func (s *capturedStream) ofKind(op rdmap.Opcode) (of []*capturedMessage) {
	for i := range s.messages {
		if s.messages[i].op == op {
			of = append(of, &s.messages[i])
		}
	}
	return of
}

// fpduAt returns the FPDU that contains the byte at, or nil.
func (s *capturedStream) fpduAt(at int) *capturedFPDU {
	for i := range s.fpdus {
		if f := &s.fpdus[i]; at >= f.start && at < f.end {
			return f
		}
	}
	return nil
}
