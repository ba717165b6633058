package mpa

import (
	"errors"
	"testing"
)

// The largest ULPDU that we send in a stream with markers, at every position: all pointers fit in
// 16 bits.
func TestMarkersLargest(t *testing.T) {
	largest := text(64768, 1)
	for base := 0; base < 512; base += 4 {
		s := checkMarked(t, base, base%64 == 0, largest, text(14, 2))
		if s.most > 65535 || s.most < 64768 {
			t.Fatalf("at %d: got a pointer of %d", base, s.most)
		}
	}
}

// Longer FPDUs of a peer are accepted if their pointers fit in 16 bits, and refused otherwise.
func TestMarkersOfLongerFPDUs(t *testing.T) {
	for _, tt := range []struct {
		ulpdu int
		most  int // the largest pointer allowed
		want  error
	}{
		{64769, 65535, nil},
		{65000, 65535, nil},
		{65535, 66063, ErrMarker},
	} {
		long := text(tt.ulpdu, 1)
		for base := 0; base < 512; base += 4 {
			crc := base%64 == 0
			s := &markedStream{base: base}
			s.fpdu(text(14, 0), crc)
			s.fpdu(long, crc)
			if s.most > tt.most || tt.want != nil && s.most < 65536 {
				t.Fatalf("ULPDU of %d at %d: a pointer of %d: the test shows nothing", tt.ulpdu, base, s.most)
			}
			want := [][]byte{text(14, 0), long}
			if tt.want != nil {
				want = want[:1]
			}
			got, _, err := readMarked(base, s.out, crc)
			if !errors.Is(err, tt.want) {
				t.Fatalf("ULPDU of %d at %d: got error %v, want %v", tt.ulpdu, base, err, tt.want)
			}
			if d := diffULPDUs(want, got); d != "" {
				t.Fatalf("ULPDU of %d at %d: ULPDUs (-want +got):\n%s", tt.ulpdu, base, d)
			}
		}
	}
}

// In a stream with markers nothing larger is sent, whatever the options and the TCP segments are.
func TestMaxSegmentMarkers(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   ConnOptions
		want int
	}{
		{"without", ConnOptions{MaxSegment: 65535}, 65535},
		{"markers in what is received", ConnOptions{MaxSegment: 65535, MarkersIn: true}, 65535},
		{"all", ConnOptions{MaxSegment: 65535, MarkersOut: true}, 64768},
		{"one more", ConnOptions{MaxSegment: 64769, MarkersOut: true}, 64768},
		{"as large as can be", ConnOptions{MaxSegment: 64768, MarkersOut: true}, 64768},
		{"less", ConnOptions{MaxSegment: 1000, MarkersOut: true}, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newConn(t, tt.in)
			if got := c.MaxSegment(); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
	// The MSS of the loopback interface is large.
	for _, n := range []int{0, FPDUPerTCPSegment} {
		c, _ := newConn(t, ConnOptions{MaxSegment: n, MarkersOut: true})
		if got := c.MaxSegment(); got > 64768 || got < 128 {
			t.Errorf("MaxSegment %d: got %d", n, got)
		}
	}
}

// With FPDUPerTCPSegment, an FPDU with its markers fills a TCP segment, wherever it begins.
func TestOneSegmentMarkers(t *testing.T) {
	for _, mss := range []int{536, 1448, 1460, 8948, 16384, 65483} {
		n := min(segmentFor(mss, true, true), maxMarkedULPDU)
		for base := 0; base < 512; base += 4 {
			_, s := markedOf(base, false, n)
			if len(s.out) > mss {
				t.Fatalf("MSS %d, at %d: got %d bytes", mss, base, len(s.out))
			}
		}
		if _, s := markedOf(0, false, n); len(s.out)+8 < mss && n < maxMarkedULPDU {
			t.Errorf("MSS %d: got %d bytes, which could be more", mss, len(s.out))
		}
	}
}
