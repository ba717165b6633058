package iwarp_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestCRCErrors flips bits in an FPDU. Each is noticed, and nothing of the FPDU is placed.
func TestCRCErrors(t *testing.T) {
	for _, dialing := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			at   int // byte of the FPDU, which has 28 bytes: 2 + 14 + 5 + 3 + 4
		}{
			{"the length, within the padding", 1},
			{"the header", 3},
			{"the STag", 7},
			{"the offset", 15},
			{"the payload", 16},
			{"the last byte of the payload", 20},
			{"the padding", 21},
			{"the CRC", 24},
			{"the last byte of the CRC", 27},
		} {
			t.Run(describe(dialing, iwarp.CRCOn)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, dialing, violationConfig(iwarp.CRCOn))
				s := newViolationRig(t, r)
				together := segment(onQueue(rdmap.OpSend, 2), "together")
				s.place(atReceives+2, "together")
				fpdu := s.frame(segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base), "wrong"))
				fpdu[tt.at] ^= 2
				late := segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base), "late")
				s.peer.write(append(append(s.frame(together), fpdu...), s.frame(late)...))

				s.wantTerminate([]byte{0x20, 0x02, 0, 0})
				if err := s.ended(); !errors.Is(err, mpa.ErrCRC) {
					t.Errorf("got error %v, want %v", err, mpa.ErrCRC)
				}
				s.wantMessage("together")
				s.wantMemory()
				r.wantCounters(map[string]int{"Connections": 1, "CRCErrors": 1, "TerminatesSent": 1})
				r.log.want(t, 1, "CRC")
			})
		}
	}
}

// A responder sends nothing, not even a Terminate, before it has received and validated an FPDU
// (RFC 5044 section 7.1.2).
func TestCRCErrorFirst(t *testing.T) {
	r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOn})
	p, l := r.connect()
	l.start()
	fpdu := p.frame(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
	fpdu[len(fpdu)-1]++
	p.write(fpdu)
	p.wantFIN()
	if err := l.ended(); !errors.Is(err, mpa.ErrCRC) {
		t.Errorf("got error %v, want %v", err, mpa.ErrCRC)
	}
}

// Without CRC, the field is ignored.
func TestCRCNotUsed(t *testing.T) {
	p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff}).connect()
	l.receives(1)
	l.start()
	fpdu := p.frame(segment(onQueue(rdmap.OpSend, 1), "message"))
	copy(fpdu[len(fpdu)-4:], "\xff\xff\xff\xff")
	p.write(fpdu)
	l.wantMessage("message")
}

// TestImpossibleLengths sends FPDUs that are too short for a header. No code stands for that, so
// the connection ends without a Terminate.
func TestImpossibleLengths(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		for n := range 18 {
			t.Run(fmt.Sprintf("%d bytes", n), func(t *testing.T) {
				r := newRig(t, dialing, violationConfig(crc))
				s := newViolationRig(t, r)
				if n < 14 {
					s.peer.write([]byte{0, byte(n)}) // no need to wait for the rest
				} else {
					s.send(segment(onQueue(rdmap.OpSend, 2), "")[:n])
				}
				s.wantFIN()
				err := s.ended()
				var op *transport.OpError
				if !errors.Is(err, mpa.ErrLength) || !errors.As(err, &op) {
					t.Errorf("got error %v, want a *transport.OpError that wraps %v", err,
						mpa.ErrLength)
				}
				s.wantMemory()
				r.wantCounters(map[string]int{"Connections": 1})
				r.log.want(t, 1, "connection ended", "impossible length")
			})
		}
	})
}

// TestShortestSegments sends the shortest possible FPDUs.
func TestShortestSegments(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		s := newViolationRig(t, newRig(t, dialing, violationConfig(crc)))
		s.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""), segment(onQueue(rdmap.OpSend, 2), ""))
		s.wantMessage("")
		s.peer.sends = 2
		alive(s.peer, s.local)
	})
}
