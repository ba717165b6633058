package mpa

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// places is a stream with markers at its beginning, between two FPDUs, behind a length, in a
// header, in payload, before a CRC, and two in one FPDU. The last FPDU has none.
func places(crc bool) (ulpdus [][]byte, s *markedStream) {
	return markedOf(0, crc, 502, 498, 494, 484, 532, 1014, 14, 14)
}

// The markers are where the other tests of this file assume them.
func TestMarkerPlacesOfErrors(t *testing.T) {
	ulpdus, s := places(false)
	var ends []int
	head := &markedStream{}
	for _, u := range ulpdus {
		head.fpdu(u, false)
		ends = append(ends, len(head.out))
	}
	if len(s.found) < 7 {
		t.Fatalf("got markers at %v", s.found)
	}
	var got []string
	for _, at := range s.found {
		word := int(s.out[at+2])<<8 + int(s.out[at+3])
		switch {
		case at == 0:
			got = append(got, "beginning")
		case slices.Contains(ends, at):
			got = append(got, "between")
		case slices.Contains(ends, at+8):
			got = append(got, "CRC")
		case word == 4:
			got = append(got, "length")
		case word < 16:
			got = append(got, "header")
		default:
			got = append(got, "payload")
		}
	}
	for _, want := range []string{"beginning", "between", "CRC", "length", "header", "payload"} {
		if !slices.Contains(got, want) {
			t.Errorf("no marker stands at: %s; got %v, FPDUs end at %v", want, got, ends)
		}
	}
}

// checkBad gives a reader a stream in which FPDU number at, from 0 on, is bad. Those before it are
// delivered, and nothing else is.
func checkBad(t *testing.T, what string, stream []byte, crc bool, want error, ulpdus [][]byte) {
	t.Helper()
	got, _, err := readMarked(0, stream, crc)
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s, CRC %t: got error %v, want %v", what, crc, err, want)
	}
	if d := diffULPDUs(ulpdus, got); d != "" {
		t.Errorf("%s, CRC %t: ULPDUs (-want +got):\n%s", what, crc, d)
	}
}

// Every bit of every marker is changed on the way. The reserved bits and the two lowest bits of the
// pointer are ignored, except by the CRC.
func TestMarkerChangedBits(t *testing.T) {
	for _, crc := range []bool{false, true} {
		ulpdus, s := places(crc)
		for _, at := range s.found {
			for bit := range 32 {
				bad := slices.Clone(s.out)
				bad[at+3-bit/8] ^= 1 << (bit % 8)
				before := unmarkAll(0, s.out[:at], crc).ulpdus
				var want error
				switch {
				case crc:
					want = ErrCRC
				case bit >= 2 && bit < 16:
					want = ErrMarker
				default:
					before = ulpdus
				}
				checkBad(t, fmt.Sprintf("bit %d at %d", bit, at), bad, crc, want, before)
			}
		}
	}
}

// The same bits are wrong at the sender already, so the CRC is right.
func TestMarkerWrongBits(t *testing.T) {
	ulpdus, s := places(true)
	for _, at := range s.found {
		for bit := range 32 {
			bad := &markedStream{flips: map[int]uint32{at: 1 << bit}}
			for _, u := range ulpdus {
				bad.fpdu(u, true)
			}
			before := ulpdus
			var want error
			if bit >= 2 && bit < 16 {
				before, want = unmarkAll(0, s.out[:at], true).ulpdus, ErrMarker
			}
			checkBad(t, fmt.Sprintf("bit %d at %d", bit, at), bad.out, true, want, before)
		}
	}
}

// A length is changed on the way, without CRC. Markers reveal it at the first one that points
// elsewhere. Wrong lengths read in between are 0x0101.
func TestMarkersShowLengths(t *testing.T) {
	const at = 4 + 20 // position of the second FPDU's length, which is 100
	for _, tt := range []struct {
		name   string
		length int
		want   error
		ulpdus int // ULPDUs delivered
	}{
		{"too short for DDP", 13, ErrLength, 1},
		{"shorter: the rest is taken for an FPDU", 80, ErrMarker, 3},
		{"longer, into the next one", 120, ErrMarker, 3},
		{"longer, and a marker in what is taken for its own", 700, ErrMarker, 1},
		{"padding taken for payload", 102, nil, 5},
		{"longer than all that comes", 60000, io.ErrUnexpectedEOF, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &markedStream{}
			for _, n := range []int{14, 100, 400, 600, 300} {
				s.fpdu(bytes.Repeat([]byte{1}, n), false)
			}
			stream := s.out
			stream[at], stream[at+1] = byte(tt.length>>8), byte(tt.length)
			c, peer := newConn(t, ConnOptions{MarkersIn: true})
			hangUp(t, peer, stream)
			var got collector
			err := receiveAll(c, &got)
			if tt.want == nil {
				tt.want = io.EOF
			}
			if err != tt.want {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
			if len(got.ulpdus) != tt.ulpdus || len(got.ulpdus[0]) != 14 {
				t.Errorf("got %d ULPDUs, want %d", len(got.ulpdus), tt.ulpdus)
			}
		})
	}
}

// Each bit of each length is changed on the way. With CRC nothing wrong is delivered. Without CRC
// the result is that of the second implementation.
func TestMarkersChangedLengths(t *testing.T) {
	for _, crc := range []bool{false, true} {
		ulpdus, s := places(crc)
		head := &markedStream{}
		for i, u := range ulpdus {
			before := len(head.out)
			head.fpdu(u, crc)
			for bit := range 16 {
				bad := slices.Clone(s.out)
				bad[head.start+1-bit/8] ^= 1 << (bit % 8)
				plain := unmarkAll(0, bad, crc)
				got, pending, err := readMarked(0, bad, crc)
				if err != plain.err {
					t.Fatalf("FPDU %d at %d, bit %d, CRC %t: got error %v, want %v", i, before, bit, crc, err, plain.err)
				}
				if err == nil && pending != len(plain.covered) {
					t.Fatalf("FPDU %d at %d, bit %d, CRC %t: %d bytes are left, want %d", i, before, bit, crc, pending, len(plain.covered))
				}
				want := plain.ulpdus
				if crc {
					want = ulpdus[:i]
				}
				if d := diffULPDUs(want, got); d != "" {
					t.Fatalf("FPDU %d at %d, bit %d, CRC %t: ULPDUs (-want +got):\n%s", i, before, bit, crc, d)
				}
			}
		}
	}
}

// A stream without markers is not accepted as one with them.
func TestMarkersMissing(t *testing.T) {
	for _, crc := range []bool{false, true} {
		_, plain := streamOf(crc, 14, 100, 1000, 14)
		if got, _, err := readMarked(0, plain, crc); err == nil || len(got) > 0 {
			t.Errorf("CRC %t: got %d ULPDUs and error %v", crc, len(got), err)
		}
	}
}
