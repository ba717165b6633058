package chunks

import (
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ReadChunk is one chunk of a read list: its segments share a position.
type ReadChunk struct {
	Position int
	Len      int // bytes; may include the XDR round-up
	Segments []ReadSegment
}

// ReadChunks sorts the read list by position and appends its chunks to dst. It checks that
//
//   - positions are multiples of four, where XDR items begin (RFC 4506 section 3), and below 2 GiB;
//   - chunks do not overlap in the XDR stream;
//   - their lengths add up to at most limit. Otherwise the error wraps xdr.ErrLimit.
//
// Chunks without bytes are left out. XDR round-up in a chunk of its own, which senders should avoid
// (draft section 3.7), becomes the end of the chunk before it.
//
// A chunk at position zero is the message itself of an RDMA_NOMSG. The positions of the other
// chunks do not count it.
func (l *Lists) ReadChunks(dst []ReadChunk, limit int) ([]ReadChunk, error) {
	slices.SortStableFunc(l.Reads, func(a, b ReadSegment) int {
		switch {
		case a.Position < b.Position:
			return -1
		case a.Position > b.Position:
			return 1
		}
		return 0
	})
	sum, end, own := uint64(0), uint64(0), len(dst)
	for i := 0; i < len(l.Reads); {
		first, pos, n := i, l.Reads[i].Position, uint64(0)
		for ; i < len(l.Reads) && l.Reads[i].Position == pos; i++ {
			n += uint64(l.Reads[i].Length)
		}
		if sum += n; sum > uint64(limit) {
			return dst, fmt.Errorf("%w: read chunks of more than %d bytes: %w", ErrMalformed, limit, xdr.ErrLimit)
		}
		if len(dst) > own && dst[len(dst)-1].roundedUp(pos, n) {
			last := &dst[len(dst)-1]
			last.Len += int(n)
			last.Segments = l.Reads[first-len(last.Segments) : i : i]
			continue
		}
		switch {
		case pos%xdr.Unit != 0:
			return dst, fmt.Errorf("%w: read chunk at position %d", ErrMalformed, pos)
		case uint64(pos) < end:
			return dst, fmt.Errorf("%w: read chunk at position %d overlaps the one before, which ends at %d",
				ErrMalformed, pos, end)
		case n == 0:
			continue
		}
		if pos != 0 {
			end = uint64(pos) + uint64(xdr.RoundUp(int(n)))
		}
		dst = append(dst, ReadChunk{Position: int(pos), Len: int(n), Segments: l.Reads[first:i:i]})
	}
	return dst, nil
}

// roundedUp reports whether n bytes at a position are the XDR round-up of c.
func (c *ReadChunk) roundedUp(position uint32, n uint64) bool {
	return c.Position != 0 && n > 0 && n == uint64(xdr.PadLen(c.Len)) &&
		uint64(position) == uint64(c.Position)+uint64(c.Len)
}

// CheckPositions checks that the chunks fit into a stream with inline other bytes.
func CheckPositions(chunks []ReadChunk, inline int) error {
	beside := 0
	for i := range chunks {
		c := &chunks[i]
		if c.Position-beside > inline {
			return fmt.Errorf("%w: read chunk at position %d, past the end of the message", ErrMalformed, c.Position)
		}
		beside += xdr.RoundUp(c.Len)
	}
	return nil
}
