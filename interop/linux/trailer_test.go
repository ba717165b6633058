//go:build interop

package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// splitTrailer reports whether a line of the kernel's log shows a CRC error that siw causes itself.
// If TCP delivers the CRC of an FPDU in two pieces, siw_get_trailer stores the second piece over
// the first. It then compares with a mixture of the right CRC and earlier bytes. The connection
// ends, and the NFS client makes another one.
func splitTrailer(line string) bool {
	var (
		at       float64
		in, own  uint32
		op       int
		got, fit [4]byte
	)
	if n, err := fmt.Sscanf(line, "[%f] siw: crc error. in: %x, own %x, op %d", &at, &in, &own, &op); err != nil || n != 4 {
		return false
	}
	binary.LittleEndian.PutUint32(got[:], in)
	binary.LittleEndian.PutUint32(fit[:], own)
	for first := 1; first < 4; first++ {
		// The first bytes were stored at the beginning, and the others over them. The remaining
		// bytes are from before.
		others := 4 - first
		if bytes.Equal(got[:others], fit[first:]) && (first <= others || bytes.Equal(got[others:first], fit[others:first])) {
			return true
		}
	}
	return false
}

func TestSplitTrailer(t *testing.T) {
	for _, tt := range []struct {
		line string
		want bool
	}{
		{"[  328.064155] siw: crc error. in: 6984d56e, own 84d56eff, op 0", true},
		{"[    1.000000] siw: crc error. in: 00008877, own 88776655, op 3", true},
		{"[    1.000000] siw: crc error. in: 00776688, own 88776655, op 3", true},
		{"[    1.000000] siw: crc error. in: 00000088, own 88776655, op 3", false},
		{"[    1.000000] siw: crc error. in: 88776654, own 88776655, op 3", false},
		{"[    1.000000] siw: crc error. in: 12345678, own 88776655, op 3", false},
		{"[    1.000000] siw: something else", false},
	} {
		if got := splitTrailer(tt.line); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.line, got, tt.want)
		}
	}
}
