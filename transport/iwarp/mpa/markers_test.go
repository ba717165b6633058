package mpa

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// markedBatch returns the FPDUs of ULPDUs in a batch that begins at position base of the stream.
func markedBatch(t testing.TB, base int, crc bool, ulpdus ...[]byte) *batch {
	t.Helper()
	b := newBatch()
	b.base = base
	for _, u := range ulpdus {
		addMarked(t, b, u, crc)
	}
	return b
}

// addMarked adds the FPDU of a ULPDU, which must fit, in pieces of odd sizes.
func addMarked(t testing.TB, b *batch, ulpdu []byte, crc bool) {
	t.Helper()
	p := ddp.Payload{List: pieces(ulpdu[14:], 1+len(ulpdu)*7%1500)}
	if !b.addMarked(ulpdu[:14], &p, len(ulpdu)-14, crc) {
		t.Fatalf("no room for %d bytes behind %d", len(ulpdu), b.size)
	}
}

// readMarked gives a reader at position base a whole stream at once.
func readMarked(base int, stream []byte, crc bool) (ulpdus [][]byte, pending int, err error) {
	r := newReader(crc, true)
	defer r.release()
	r.pos = base
	var got collector
	for err == nil && len(stream) > 0 {
		n := copy(r.space(), stream)
		stream = stream[n:]
		r.n += n
		err = r.parseMarked(&got)
	}
	return got.ulpdus, held(r), err
}

// checkMarked checks sending and receiving of ULPDUs from position base on against the second
// implementation, which must also accept its own stream.
func checkMarked(t testing.TB, base int, crc bool, ulpdus ...[]byte) *markedStream {
	t.Helper()
	want := &markedStream{base: base}
	for _, u := range ulpdus {
		want.fpdu(u, crc)
	}
	b := markedBatch(t, base, crc, ulpdus...)
	diff(t, b.rest(), want.out)
	if b.position() != want.pos() || b.size != len(want.out) {
		t.Fatalf("got %d bytes, and position %d, want %d and %d", b.size, b.position(), len(want.out), want.pos())
	}
	b.release()
	got, pending, err := readMarked(base, want.out, crc)
	if d := diffULPDUs(ulpdus, got); d != "" || err != nil || pending != 0 {
		t.Fatalf("%d bytes are left, error %v, ULPDUs (-want +got):\n%s", pending, err, d)
	}
	plain := unmarkAll(base, want.out, crc)
	if d := diffULPDUs(ulpdus, plain.ulpdus); d != "" || plain.err != nil || len(plain.covered) > 0 {
		t.Fatalf("the second implementation does not agree with itself: %v, ULPDUs (-want +got):\n%s", plain.err, d)
	}
	return want
}

// Streams written by hand from RFC 5044 section 4.3.
func TestMarkersGolden(t *testing.T) {
	header := "c1 00 00000001 0000000000000010" // 14 bytes
	fill := func(n int) string { return strings.Repeat("aa", n) }
	for _, tt := range []struct {
		name   string
		crc    bool
		ulpdus []string
		want   string
	}{
		{"at the beginning", false, []string{header}, "00000000 000e" + header + "00000000"},
		{"at the beginning, CRC", true, []string{header}, "00000000 000e" + header + "5cadfbbd"},
		// The first FPDU is at positions 4 to 520, except for the marker at 512, which is 508 bytes
		// after its length.
		{"in front of the CRC", false, []string{header + fill(490), header},
			"00000000 01f8" + header + fill(490) + "0000 000001fc 00000000" + "000e" + header + "00000000"},
		{"in front of the CRC, CRC", true, []string{header + fill(490), header},
			"00000000 01f8" + header + fill(490) + "0000 000001fc 4c515798" + "000e" + header + "88614e43"},
		// The first FPDU is at positions 4 to 512.
		{"between two", false, []string{header + fill(488), header},
			"00000000 01f6" + header + fill(488) + "00000000" + "00000000 000e" + header + "00000000"},
		{"between two, CRC", true, []string{header + fill(488), header},
			"00000000 01f6" + header + fill(488) + "4829e971" + "00000000 000e" + header + "5cadfbbd"},
		// The second begins at 508.
		{"behind the length", false, []string{header + fill(484), header},
			"00000000 01f2" + header + fill(484) + "00000000" + "000e c100 00000004 00000001 0000000000000010 00000000"},
		{"behind the length, CRC", true, []string{header + fill(484), header},
			"00000000 01f2" + header + fill(484) + "adece876" + "000e c100 00000004 00000001 0000000000000010 6e1bdcae"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unhex := func(s string) []byte {
				b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			var ulpdus [][]byte
			for _, u := range tt.ulpdus {
				ulpdus = append(ulpdus, unhex(u))
			}
			want := unhex(tt.want)
			diff(t, checkMarked(t, 0, tt.crc, ulpdus...).out, want)
			diff(t, markedBatch(t, 0, tt.crc, ulpdus...).rest(), want)
		})
	}
}

// Every position that a marker can have in an FPDU: before one of its words, between two FPDUs, or
// none.
func TestMarkerPlaces(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ulpdu int
		at    int // the marker's position, relative to the FPDU
	}{
		{"between two FPDUs", 20, 0},
		{"between the length with two bytes of the header and the rest", 20, 4},
		{"in the header", 20, 8},
		{"in the last word of the header", 20, 12},
		{"between a tagged header and the payload", 20, 16},
		{"in the payload", 100, 52},
		{"in front of the last word of payload, without padding", 22, 20},
		{"in front of a word with 1 byte of padding", 21, 20},
		{"in front of a word with 2 bytes of padding", 20, 20},
		{"in front of a word with 3 bytes of padding", 19, 20},
		{"in front of the CRC", 22, 24},
		{"in front of the CRC, behind padding", 19, 24},
		{"in front of the CRC of a header alone", 14, 16},
		{"at the end, for the next FPDU", 22, 28},
	} {
		for _, crc := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, CRC %t", tt.name, crc), func(t *testing.T) {
				base := 5*512 - tt.at
				ulpdu, next := text(tt.ulpdu, 1), text(14, 2)
				s := checkMarked(t, base, crc, ulpdu, next)
				if len(s.found) != 1 || s.found[0] != 5*512 {
					t.Fatalf("got markers at %v, want one at %d", s.found, 5*512)
				}
				size := fpduSize(tt.ulpdu)
				want := tt.at
				if tt.at == size {
					want = 0 // it belongs to the next FPDU
				}
				if got := s.out[tt.at : tt.at+4]; !bytes.Equal(got, []byte{0, 0, 0, byte(want)}) {
					t.Errorf("got marker % x, want %d", got, want)
				}
				if !crc {
					return
				}
				// The CRC that covers it: of this FPDU, or of the next one.
				end := size + 4
				from := 0
				if tt.at == size {
					from, end = size, len(s.out)
				}
				if !crcHolds(s.out[from:end]) {
					t.Error("the CRC does not cover the marker")
				}
			})
		}
	}
}

// FPDUs of every size near a boundary, at every position.
func TestMarkersEverywhere(t *testing.T) {
	sizes := []int{14, 15, 16, 17, 18, 19, 22, 60, 485, 486, 487, 488, 489, 490, 494, 498, 501, 502, 503, 506, 510, 514, 1010, 1011, 1014, 1018, 1022, 1523}
	for base := 0; base < 512; base += 4 {
		for i, n := range sizes {
			checkMarked(t, base, i%2 == 0, text(n, 1), text(14+base%40, 2), text(n, 3))
		}
	}
}

// markedSize against counting.
func TestMarkedSize(t *testing.T) {
	for base := 512; base < 1024; base += 4 {
		for _, from := range []int{14, 470, 978} {
			for n := from; n < from+60; n += 4 {
				_, s := markedOf(base, false, n)
				if got := markedSize(base, fpduSize(n)); got != len(s.out) {
					t.Fatalf("ULPDU of %d at %d: got %d bytes, want %d", n, base, got, len(s.out))
				}
			}
		}
	}
	if got := markedSize(0, maxFPDU); got > maxMarked {
		t.Errorf("the largest FPDU has %d bytes, more than %d", got, maxMarked)
	}
}
