package mpa

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// crc32c computes the CRC as RFC 3720 section 12.1 defines it, bit by bit.
func crc32c(p []byte) uint32 {
	const reflected = 0x82f63b78 // 0x11edc6f41 with the least significant bit first
	sum := ^uint32(0)
	for _, b := range p {
		sum ^= uint32(b)
		for range 8 {
			sum = sum>>1 ^ reflected&-(sum&1)
		}
	}
	return ^sum
}

// appendFPDU encodes the FPDU of a ULPDU in the simplest way.
func appendFPDU(b, ulpdu []byte, crc bool) []byte {
	start := len(b)
	b = append(b, byte(len(ulpdu)>>8), byte(len(ulpdu)))
	b = append(b, ulpdu...)
	for (len(b)-start)%4 != 0 {
		b = append(b, 0)
	}
	if !crc {
		return append(b, 0, 0, 0, 0)
	}
	return binary.LittleEndian.AppendUint32(b, crc32c(b[start:]))
}

// text returns n bytes that differ from those nearby.
func text(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8)*7 ^ byte(seed*31)
	}
	return b
}

// The examples of RFC 3720 section B.4. They have the CRC in the order of transmission.
func TestCRC(t *testing.T) {
	run := func(first, step byte) string {
		b := make([]byte, 32)
		for i := range b {
			b[i] = first + byte(i)*step
		}
		return hex.EncodeToString(b)
	}
	for _, tt := range []struct{ name, in, crc string }{
		{"zeroes", strings.Repeat("00", 32), "aa36918a"},
		{"ones", strings.Repeat("ff", 32), "43aba862"},
		{"incrementing", run(0, 1), "4e79dd46"},
		{"decrementing", run(31, 255), "5cdb3f11"},
		{
			"SCSI read command", "01c000000000000000000000000000001400000000000400" +
				"000000140000001828000000000000000200000000000000", "563a96d9",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole, err := hex.DecodeString(tt.in + tt.crc)
			if err != nil {
				t.Fatal(err)
			}
			if !crcHolds(whole) {
				t.Error("got no match")
			}
			if got, want := crc32c(whole[:len(whole)-4]), binary.LittleEndian.Uint32(whole[len(whole)-4:]); got != want {
				t.Errorf("the tests' own CRC: got %#08x, want %#08x", got, want)
			}
			for i := range 8 * len(whole) {
				bad := bytes.Clone(whole)
				bad[i/8] ^= 1 << (i % 8)
				if crcHolds(bad) {
					t.Errorf("got a match with bit %d changed", i)
				}
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for _, tt := range []struct{ ulpdu, pad, fpdu int }{
		{0, 2, 8},
		{1, 1, 8},
		{2, 0, 8},
		{3, 3, 12},
		{14, 0, 20},
		{15, 3, 24},
		{16, 2, 24},
		{17, 1, 24},
		{18, 0, 24},
		{1442, 0, 1448},
		{65532, 2, 65540},
		{65533, 1, 65540},
		{65534, 0, 65540},
		{65535, 3, 65544},
	} {
		if got := padding(tt.ulpdu); got != tt.pad {
			t.Errorf("%d bytes: got %d of padding, want %d", tt.ulpdu, got, tt.pad)
		}
		if got := fpduSize(tt.ulpdu); got != tt.fpdu {
			t.Errorf("%d bytes: got an FPDU of %d, want %d", tt.ulpdu, got, tt.fpdu)
		}
	}
	if maxFPDU != 65544 {
		t.Errorf("got at most %d bytes, want 65544", maxFPDU)
	}
}

// An FPDU fills a TCP segment, as far as a length that is a multiple of 4 can.
func TestSegmentFor(t *testing.T) {
	for _, tt := range []struct {
		mss          int
		want         int
		markers, one int // want with markers; want for one FPDU per TCP segment
	}{
		{1448, 1442, 1430, 1442}, // Ethernet, with time stamps
		{1460, 1454, 1442, 1454}, // without
		{1449, 1442, 1430, 1442},
		{1451, 1442, 1430, 1442},
		{1452, 1446, 1434, 1446},
		{8948, 8942, 8870, 8942},
		{536, 530, 522, 530},
		{16384, 16378, 16250, 16378},
		{16385, 65518, 65518, 16378}, // 65504 bytes of payload in an RDMA Write
		{65483, 65518, 65518, 65474},
		{88, 128, 128, 128},
		{0, 128, 128, 128}, // the system does not say
		{1 << 20, 65518, 65518, 65535},
	} {
		for _, c := range []struct {
			name         string
			markers, one bool
			want         int
		}{{"plain", false, false, tt.want}, {"markers", true, false, tt.markers}, {"one", false, true, tt.one}} {
			if got := segmentFor(tt.mss, c.markers, c.one); got != c.want {
				t.Errorf("MSS %d, %s: got %d, want %d", tt.mss, c.name, got, c.want)
			}
		}
	}
}
