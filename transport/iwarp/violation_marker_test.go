package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// markedPlaces are positions in an FPDU of a Write for the marker at 512.
var markedPlaces = []struct {
	name  string
	start int // position of the FPDU
	data  int // bytes to write
}{
	{"in front of it", 512, 100},
	{"behind its first four bytes", 508, 100},
	{"in the header", 500, 100},
	{"in front of the payload", 496, 100},
	{"in the payload", 452, 100},
	{"in front of the CRC", 488, 5}, // 2 + 14 + 5 + 3
}

// markerRig is a rig whose peers send markers, and with back also want them in what they receive.
func markerRig(t *testing.T, dialing bool, crc iwarp.CRC, back bool) *rig {
	r := newRig(t, dialing, iwarp.Config{CRC: crc, Markers: mpa.MarkersOn})
	r.markers = back
	return r
}

// eachMarked runs f for both roles, with CRC and without, and with markers in one direction or
// both.
func eachMarked(t *testing.T, f func(t *testing.T, r *rig)) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("markers both ways %t", back), func(t *testing.T) { f(t, markerRig(t, dialing, crc, back)) })
		}
	})
}

// markedWrite makes the peer write to a window of ours, so that the FPDU of its next Write begins
// at position start. That Write has n bytes for offset 600, and is not sent yet.
func markedWrite(p *peer, l *local, start, n int) (window, fpdu []byte) {
	window = make([]byte, 1000)
	w := l.expose(transport.RemoteWrite, window)
	p.send(segment(toSTag(rdmap.OpWrite, w.STag, w.Base), string(firstData(start))))
	return window, p.frame(segment(toSTag(rdmap.OpWrite, w.STag, w.Base+600), string(data(n, 2))))
}

// firstData returns the payload of the first Write. Marker, length and header, 20 bytes, precede
// it, and the CRC of 4 bytes follows.
func firstData(start int) []byte { return data(start-24, 1) }

// reseal computes the CRC of an FPDU again.
func reseal(fpdu []byte) {
	n := len(fpdu) - 4
	binary.LittleEndian.PutUint32(fpdu[n:], crc32.Checksum(fpdu[:n], crc32.MakeTable(crc32.Castagnoli)))
}

// TestMarkerErrors sends markers that point to another beginning of the FPDU than the length of its
// predecessor.
func TestMarkerErrors(t *testing.T) {
	for _, place := range markedPlaces {
		t.Run(place.name, func(t *testing.T) {
			eachMarked(t, func(t *testing.T, r *rig) {
				p, l := r.connect()
				l.start()
				window, fpdu := markedWrite(p, l, place.start, place.data)
				fpdu[512-place.start+3] += 4
				if p.crc {
					reseal(fpdu) // the peer sends this marker on purpose
				}
				p.write(append(fpdu, p.frame(segment(toSTag(rdmap.OpWrite, 1, 0), ""))...))
				p.wantTerminate([]byte{0x20, 0x03, 0, 0})
				var op *transport.OpError
				if err := l.ended(); !errors.Is(err, mpa.ErrMarker) || !errors.As(err, &op) {
					t.Errorf("got error %v, want a *transport.OpError that wraps %v", err, mpa.ErrMarker)
				}
				want := make([]byte, len(window))
				copy(want, firstData(place.start))
				if !bytes.Equal(window, want) {
					t.Error("the window is not as the good Write left it")
				}
				r.wantCounters(map[string]int{"Connections": 1, "MarkerErrors": 1, "TerminatesSent": 1})
				r.log.want(t, 1, "connection terminated", "marker", p.conn.LocalAddr().String())
			})
		})
	}
}

// The CRC covers the markers, so damage to one is a wrong CRC first.
func TestMarkerCRC(t *testing.T) {
	for _, dialing := range []bool{false, true} {
		for _, at := range []int{0, 1, 2, 3} { // of the marker
			t.Run(fmt.Sprintf("%s, byte %d", describe(dialing, iwarp.CRCOn), at), func(t *testing.T) {
				r := markerRig(t, dialing, iwarp.CRCOn, true)
				p, l := r.connect()
				l.start()
				_, fpdu := markedWrite(p, l, 452, 100)
				fpdu[60+at] ^= 1
				p.write(fpdu)
				p.wantTerminate([]byte{0x20, 0x02, 0, 0})
				if err := l.ended(); !errors.Is(err, mpa.ErrCRC) {
					t.Errorf("got error %v, want %v", err, mpa.ErrCRC)
				}
				r.wantCounters(map[string]int{"Connections": 1, "CRCErrors": 1, "TerminatesSent": 1})
			})
		}
	}
}

// The first half of a marker is reserved, and the two lowest bits of its number mean nothing (RFC
// 5044 section 4.3).
func TestMarkerReserved(t *testing.T) {
	eachMarked(t, func(t *testing.T, r *rig) {
		p, l := r.connect()
		l.start()
		window, fpdu := markedWrite(p, l, 452, 100)
		copy(fpdu[60:], "\xff\xff")
		fpdu[63] |= 3
		if p.crc {
			reseal(fpdu)
		}
		p.write(fpdu)
		alive(p, l)
		if got, want := window[600:700], data(100, 2); !bytes.Equal(got, want) {
			t.Errorf("written % x, want % x", got, want)
		}
	})
}

// The very first marker is wrong. A responder sends nothing before it has received a valid FPDU
// (RFC 5044 section 7.1.2).
func TestMarkerErrorFirst(t *testing.T) {
	eachMarked(t, func(t *testing.T, r *rig) {
		p, l := r.connect()
		l.start()
		fpdu := p.frame(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
		fpdu[3] = 4
		if p.crc {
			reseal(fpdu)
		}
		p.write(fpdu)
		counters := map[string]int{"Connections": 1, "MarkerErrors": 1}
		if r.dialing {
			p.wantTerminate([]byte{0x20, 0x03, 0, 0})
			counters["TerminatesSent"] = 1
		} else {
			p.wantFIN()
		}
		if err := l.ended(); !errors.Is(err, mpa.ErrMarker) {
			t.Errorf("got error %v, want %v", err, mpa.ErrMarker)
		}
		r.wantCounters(counters)
		r.log.want(t, 1, "marker")
	})
}

// A peer that announces markers and sends none is detected.
func TestMarkersMissing(t *testing.T) {
	p, l := markerRig(t, true, iwarp.CRCOff, false).connect()
	l.start()
	p.mark(false, false)
	for range 40 { // the first length is taken for a marker's reserved half
		p.send(segment(onQueue(rdmap.OpSend, 1), "unmarked"))
	}
	for {
		seg, ok := p.next()
		if !ok {
			break
		}
		if !bytes.HasPrefix(seg, terminateSegment(nil)) {
			t.Errorf("got the segment % x, want a Terminate at most", seg)
		}
	}
	if err := l.ended(); !errors.Is(err, mpa.ErrMarker) && !errors.Is(err, mpa.ErrLength) {
		t.Errorf("got error %v, want %v or %v", err, mpa.ErrMarker, mpa.ErrLength)
	}
}

// A Terminate about the reply has markers if the reply asks for them.
func TestTerminatedReplyMarkers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   iwarp.Config
		bits  byte // of the reply
		data  string
		code  byte
		marks bool
		want  error
	}{
		{"neither", iwarp.Config{CRC: iwarp.CRCOff}, 0x10, "\x00\x10\x00\x11", 6, false, mpa.ErrInsufficientIRD},
		{"ours, which are for the other direction", iwarp.Config{CRC: iwarp.CRCOff, Markers: mpa.MarkersOn}, 0x10, "\x00\x10\x00\x11", 6, false, mpa.ErrInsufficientIRD},
		{"the peer's", iwarp.Config{CRC: iwarp.CRCOff}, 0x90, "\x00\x10\x00\x11", 6, true, mpa.ErrInsufficientIRD},
		{"the peer's, with CRC", iwarp.Config{CRC: iwarp.CRCOff}, 0xd0, "\x00\x10\x00\x11", 6, true, mpa.ErrInsufficientIRD},
		{"both, with our CRC", iwarp.Config{CRC: iwarp.CRCOn, Markers: mpa.MarkersOn}, 0x90, "\x00\x10\x00\x11", 6, true, mpa.ErrInsufficientIRD},
		{"another model", iwarp.Config{CRC: iwarp.CRCOff}, 0x90, peerToPeer, 7, true, mpa.ErrConnectionModel},
		{"no enhanced data", iwarp.Config{CRC: iwarp.CRCOff}, 0x90, "\x00", 4, true, mpa.ErrFrame},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, true, tt.cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.readStartup()
			p.crc = tt.cfg.CRC == iwarp.CRCOn || tt.bits&0x40 != 0
			p.mark(false, tt.marks)
			p.write(replyFrame(tt.bits, 2, tt.data))
			p.wantTerminate([]byte{0x20, tt.code, 0, 0})
			if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, tt.want) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, tt.want)
			}
			r.wantCounters(map[string]int{"HandshakeFailures": 1, "TerminatesSent": 1})
		})
	}
}
