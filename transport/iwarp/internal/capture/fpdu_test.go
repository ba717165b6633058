package capture

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const startupFrame = "MPA ID Req Frame" + "\x10\x02\x00\x03" + "abc"

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fpdus string
		want  []FPDU
	}{
		{"none", "", nil},
		{"empty", "\x00\x00" + "\x00\x00" + "CRC0", []FPDU{
			{[]byte("\x00\x00\x00\x00CRC0"), []byte{}, []byte("CRC0")},
		}},
		{"pads of 0 to 3", "\x00\x02ab" + "CRC0" + "\x00\x01a." + "CRC1" + "\x00\x04abcd.." + "CRC2" + "\x00\x03abc..." + "CRC3", []FPDU{
			{[]byte("\x00\x02abCRC0"), []byte("ab"), []byte("CRC0")},
			{[]byte("\x00\x01a.CRC1"), []byte("a"), []byte("CRC1")},
			{[]byte("\x00\x04abcd..CRC2"), []byte("abcd"), []byte("CRC2")},
			{[]byte("\x00\x03abc...CRC3"), []byte("abc"), []byte("CRC3")},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			startup, fpdus := Split(t, []byte(startupFrame+tt.fpdus))
			if string(startup) != startupFrame {
				t.Errorf("startup: got %q, want %q", startup, startupFrame)
			}
			if diff := cmp.Diff(tt.want, fpdus); diff != "" {
				t.Errorf("FPDUs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplitTruncated(t *testing.T) {
	whole := startupFrame + "\x00\x02abCRC0"
	for n := range len(whole) {
		if _, _, err := split([]byte(whole[:n])); err == nil && n != len(startupFrame) {
			t.Errorf("the first %d bytes: got no error", n)
		}
	}
}

// FPDUs fill a stream to its last byte. Their CRCs are those of RFC 5044 section 4.4, or zero if
// none was agreed on.
func TestCapturedFPDUs(t *testing.T) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for _, tt := range []struct {
		name                 string
		crc                  bool
		initiator, responder int // FPDUs
	}{
		{Stock, false, 211, 468},
		{CRC, true, 211, 468},
		{P2P, false, 212, 468},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Load(t, tt.name)
			for _, side := range []struct {
				key    string
				stream []byte
				fpdus  int
			}{
				{"MPA ID Req Frame", s.Initiator, tt.initiator},
				{"MPA ID Rep Frame", s.Responder, tt.responder},
			} {
				startup, fpdus := Split(t, side.stream)
				if len(startup) != 32 || string(startup[:16]) != side.key {
					t.Errorf("startup frame: got %q, want 32 bytes that begin with %q", startup, side.key)
				}
				if len(fpdus) != side.fpdus {
					t.Errorf("%s: got %d FPDUs, want %d", side.key, len(fpdus), side.fpdus)
				}
				total := len(startup)
				for i, f := range fpdus {
					total += len(f.Raw)
					var want uint32
					if tt.crc {
						want = crc32.Checksum(f.Raw[:len(f.Raw)-4], castagnoli)
					}
					if got := binary.LittleEndian.Uint32(f.CRC); got != want {
						t.Errorf("FPDU %d: got CRC %#08x, want %#08x", i, got, want)
					}
				}
				if total != len(side.stream) {
					t.Errorf("%s: got %d bytes, want %d", side.key, total, len(side.stream))
				}
			}
		})
	}
}
