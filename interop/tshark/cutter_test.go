//go:build interop

package tshark

import "encoding/binary"

// cutter cuts one direction into frames, byte by byte.
type cutter struct {
	marked bool
	fpdus  bool
	pos    int    // in the stream of FPDUs
	all    []byte // of the frame
	plain  []byte // likewise, without markers
}

// take returns a frame when b is its last byte.
func (c *cutter) take(b byte) []byte {
	c.all = append(c.all, b)
	if !c.fpdus || !c.marked || c.pos%markerEvery >= markerLen {
		c.plain = append(c.plain, b)
	}
	if c.fpdus {
		c.pos++
	}
	if !c.complete() {
		return nil
	}
	whole := c.all
	c.all, c.plain = nil, nil
	return whole
}

func (c *cutter) complete() bool {
	if !c.fpdus {
		return len(c.plain) >= startupLen && len(c.plain) == startupLen+int(binary.BigEndian.Uint16(c.plain[startupLen-2:]))
	}
	return len(c.plain) >= fpduLen && len(c.plain) == paddedLen(int(binary.BigEndian.Uint16(c.plain)))
}

// paddedLen returns the length of an FPDU with a ULPDU of n bytes (RFC 5044 section 4.1).
func paddedLen(n int) int { return (2+n+3)/4*4 + crcLen }
