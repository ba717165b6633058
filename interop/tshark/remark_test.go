//go:build interop

package tshark

import (
	"encoding/binary"
	"hash/crc32"
)

// A marker has 4 bytes, and there is one for each 512 of the stream (RFC 5044 section 4.3).
const (
	markerLen   = 4
	markerEvery = 512
)

// remark adds markers to an FPDU that is to begin at position to of its stream, or removes them
// from one that begins at position from, byte by byte.
func remark(fpdu []byte, from, to int, markers, crc bool) []byte {
	if !markers {
		var plain []byte
		for i, b := range fpdu {
			if (from+i)%markerEvery >= markerLen {
				plain = append(plain, b)
			}
		}
		return sum(plain, crc)
	}
	var out []byte
	start := to
	if to%markerEvery == 0 {
		start += markerLen
	}
	for _, b := range fpdu {
		if at := to + len(out); at%markerEvery == 0 {
			out = binary.BigEndian.AppendUint32(out, uint32(max(at-start, 0)))
		}
		out = append(out, b)
	}
	return sum(out, crc)
}

// sum sets the CRC at the end of an FPDU, if there is one.
func sum(fpdu []byte, crc bool) []byte {
	if n := len(fpdu) - crcLen; crc {
		binary.LittleEndian.PutUint32(fpdu[n:], crc32.Checksum(fpdu[:n], crc32.MakeTable(crc32.Castagnoli)))
	}
	return fpdu
}
