package chunks

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Distribute appends to dst the segments of chunk with the lengths that n bytes fill, in
// order and without gaps; the rest is of length zero (draft section 3.6). It
// reports false when n bytes do not fit.
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

// AddRoundUp adds the XDR round-up of n bytes to the lengths of the segments that Distribute has
// made of them (draft section 3.7): first as room behind the data, as far as offered has it, then
// to the last segment used, which is longer than it was offered then. The bytes themselves are not
// for writing.
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

// WrittenLen checks a chunk that a peer returns against the one that was offered to it,
// and returns the bytes it says to have written. A segment may be filled in part only
// if those behind it are empty.
//
// With roundUp these bytes may include the XDR round-up (draft section 3.7), for which there may be
// no room, or which may be added to the last segment used where there is some behind it: that may
// be longer than it was offered, by up to 3, if this makes a multiple of four of a number that is
// none. So there may be more bytes than were offered in all. Who uses them to slice memory must see
// to that.
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

// AppendSegments appends to dst the segments, of size bytes at most, of n bytes at offset under
// handle.
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
