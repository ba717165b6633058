package mpa

import (
	"encoding/binary"
	"hash/crc32"
)

// An FPDU consists of the length of the ULPDU in two bytes, the ULPDU, zero to three zero bytes of
// padding to a multiple of four, and the CRC in four bytes (RFC 5044 section 4.1).
const (
	lengthSize = 2
	crcSize    = 4
	padTo      = 4

	maxULPDU = 1<<16 - 1
	maxFPDU  = lengthSize + maxULPDU + padTo - 1 + crcSize
)

// castagnoli is the polynomial of the CRC (RFC 5044 section 4.4, which refers to RFC 3720). The
// value is stored with the least significant byte first. It is zero if no CRC is used.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// padding returns the number of padding bytes for a ULPDU of n bytes.
func padding(n int) int { return -(lengthSize + n) & (padTo - 1) }

// fpduSize returns the size of the FPDU for a ULPDU of n bytes.
func fpduSize(n int) int { return lengthSize + n + padding(n) + crcSize }

// crcHolds checks the CRC of a whole FPDU.
func crcHolds(fpdu []byte) bool {
	n := len(fpdu) - crcSize
	return crc32.Checksum(fpdu[:n], castagnoli) == binary.LittleEndian.Uint32(fpdu[n:])
}
