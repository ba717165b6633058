package iwarp_test

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// withULPDU returns f with another header and payload of the same lengths.
func (f *capturedFPDU) withULPDU(h ddp.Header, payload []byte, crc bool) []byte {
	raw := append([]byte(nil), f.Raw...)
	copy(raw[2:], append(h.Append(nil), payload...))
	return seal(raw, crc)
}

// canonical returns f as we would send it. The padding is zero (RFC 5044 section 4.1); siw's may be
// anything.
func (f *capturedFPDU) canonical(crc bool) []byte {
	raw := append([]byte(nil), f.Raw...)
	clear(raw[2+len(f.ULPDU) : len(raw)-4])
	return seal(raw, crc)
}

// seal computes the CRC of an FPDU, if it has one.
func seal(raw []byte, crc bool) []byte {
	if crc {
		n := len(raw) - 4
		binary.LittleEndian.PutUint32(raw[n:], crc32.Checksum(raw[:n], castagnoli))
	}
	return raw
}

// sealed reports whether the CRC of an FPDU is right.
func sealed(raw []byte, crc bool) bool {
	n := len(raw) - 4
	want := uint32(0)
	if crc {
		want = crc32.Checksum(raw[:n], castagnoli)
	}
	return binary.LittleEndian.Uint32(raw[n:]) == want
}
