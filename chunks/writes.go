package chunks

import (
	"fmt"

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

// WrittenLen checks a chunk that a peer returned against the one that was offered, and returns how
// many bytes the peer says it has written. Only the last segment used may be filled in part.
//
// With roundUp that number may include the XDR round-up (draft section 3.7). The last segment used
// may then be up to 3 bytes longer than offered, if that makes the number of bytes a multiple of
// four. So the result may be more than was offered in all: do not slice memory by it unchecked.
func WrittenLen(offered, returned WriteChunk, roundUp bool) (int, error) {
	if len(returned) != len(offered) {
		return 0, fmt.Errorf("%w: %d segments returned of a chunk of %d", ErrMalformed, len(returned), len(offered))
	}
	n, full, room := 0, true, uint64(0)
	for i, s := range returned {
		o := offered[i]
		room += uint64(o.Length)
		switch {
		case s.Handle != o.Handle || s.Offset != o.Offset:
			return 0, fmt.Errorf("%w: segment %d returned is not the one offered", ErrMalformed, i)
		case s.Length > o.Length && (!roundUp || s.Length-o.Length != uint32(-room%xdr.Unit)):
			return 0, fmt.Errorf("%w: %d bytes returned in a segment of %d", ErrMalformed, s.Length, o.Length)
		case s.Length > 0 && !full:
			return 0, fmt.Errorf("%w: segment %d filled behind a gap or a round-up", ErrMalformed, i)
		}
		full = full && s.Length == o.Length
		n += int(s.Length)
	}
	return n, nil
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
