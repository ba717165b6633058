package chunks

import (
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Distribute appends to dst the segments of chunk with new lengths: those that n bytes fill, in
// order and without gaps. Unused segments have length zero (draft section 3.6). It reports false if
// n bytes do not fit.
func Distribute(dst []Segment, chunk WriteChunk, n int) ([]Segment, bool) {
	if uint64(n) > chunk.Len() {
		return dst, false
	}
	for _, s := range chunk {
		s.Length = uint32(min(uint64(n), uint64(s.Length)))
		n -= int(s.Length)
		dst = append(dst, s)
	}
	return dst, true
}

// AddRoundUp adds the XDR round-up of n bytes to the lengths that Distribute made (draft section
// 3.7). It goes into free room of offered after the data first. What is left goes to the last
// segment used, which is then longer than it was offered. The bytes of the round-up are never
// written.
func AddRoundUp(filled []Segment, offered WriteChunk, n int) {
	pad, last := uint32(xdr.PadLen(n)), 0
	for i := range filled {
		k := min(pad, offered[i].Length-filled[i].Length)
		filled[i].Length += k
		pad -= k
		if filled[i].Length > 0 {
			last = i
		}
	}
	if pad > 0 {
		filled[last].Length += pad
	}
}

// AppendSegments appends to dst the segments for n bytes at offset under handle, each of at most
// size bytes.
func AppendSegments(dst []Segment, handle uint32, offset uint64, n, size int) []Segment {
	for n > 0 {
		s := Segment{Handle: handle, Length: uint32(min(n, size)), Offset: offset}
		dst = append(dst, s)
		offset += uint64(s.Length)
		n -= int(s.Length)
	}
	return dst
}

// segments returns how many segments AppendSegments makes.
func segments(n, size int) int {
	k := n / size
	if n%size > 0 {
		k++
	}
	return k
}
