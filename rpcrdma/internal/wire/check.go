package wire

import (
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var (
	// errList: chunk lists say what is not allowed.
	errList = fmt.Errorf("%w: %w", ErrMalformed, chunks.ErrMalformed)
	// ErrNoMessage: an RDMA_NOMSG has no chunk with its message.
	ErrNoMessage = fmt.Errorf("%w: RDMA_NOMSG without a message", errList)
)

// Kind is what a message is.
type Kind uint8

// The kinds of messages with chunk lists.
const (
	Call Kind = iota
	Reply
)

// Limits say what a peer's chunk lists may have.
type Limits struct {
	Draft   bool          // the rules of the draft hold, beyond those of RFC 8166
	NoReads bool          // this end can make no RDMA Reads
	Bytes   int           // the most bytes in the read list
	Inline  int           // bytes of the message that are in the Send
	Offered *chunks.Lists // for a reply, what its call offered
}

// Lists is what Check found in a message's chunk lists.
type Lists struct {
	Reads    []ReadChunk // the read list by position
	Long     bool        // the first of Reads is the message itself
	Written  []int       // for each write chunk of a reply, how many bytes it has
	ReplyLen int         // how many bytes the reply chunk has
}

// ReadChunk is one chunk of a read list: its segments share a position.
type ReadChunk struct {
	Position int
	Len      int // bytes; may include the XDR round-up
	Segments []chunks.ReadSegment
}

// Check checks the chunk lists of a message, and sets to, whose memory it reuses, to what they
// have. Sections are those of RFC 8166.
//
// The error wraps ErrMalformed, and also xdr.ErrLimit if the read list has more than Limits.Bytes,
// ErrReplyReadList or ErrRoundUp if the peer speaks the other dialect, and otherwise mostly
// chunks.ErrMalformed. It is transport.ErrNoReads if this end cannot fetch the read list.
func Check(kind Kind, h *Header, lim *Limits, to *Lists) (err error) {
	to.Reads, to.Written = to.Reads[:0], to.Written[:0]
	to.Long, to.ReplyLen = false, 0
	if len(h.Reads)+len(h.Writes) == 0 && !h.HasReply && h.Type != TypeNoMsg {
		return nil // the common case
	}

	// Section 4.3.1: replies have no read list. They may in the draft (sections 3.8 and 5.1).
	if kind == Reply && len(h.Reads) > 0 && !lim.Draft {
		return ErrReplyReadList
	}

	// Section 3.4.3: a segment lies within 64 bits of offset.
	if err := checkOffsets(h); err != nil {
		return err
	}

	// Sections 3.4.5 and 4.3.1: the read list.
	if to.Reads, err = readChunks(to.Reads, h.Reads, lim.Bytes); err != nil {
		return err
	}
	if kind == Call && len(to.Reads) > 0 && lim.NoReads {
		return transport.ErrNoReads
	}

	// Section 3.5.3: an RDMA_NOMSG has its message in a chunk: a call in a read chunk at position
	// zero, a reply in the reply chunk, or in the draft (section 5.1) in such a read chunk.
	to.Long = len(to.Reads) > 0 && to.Reads[0].Position == 0
	inReply := kind == Reply && h.Reply.Len() > 0
	switch noMsg := h.Type == TypeNoMsg; {
	case to.Long && (!noMsg || inReply):
		return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
	case inReply && !noMsg:
		return fmt.Errorf("%w: %v with a reply chunk in use", ErrMalformed, h.Type)
	case noMsg && !to.Long && !inReply:
		return ErrNoMessage
	}

	// Sections 3.4.6, 4.3.2 and 4.3.3: a reply returns the write list and the reply chunk as they
	// were offered, with new lengths. One that returns no write list at all is taken, too.
	if kind == Reply {
		if err := checkWritten(h, lim, to); err != nil {
			return err
		}
	}

	// Section 3.4.5: a position lies in the stream. Its other bytes are in the message, and in the
	// draft, where replies have read chunks, in write chunks.
	beside, reads := lim.Inline, to.Reads
	switch {
	case to.Long:
		beside, reads = reads[0].Len, reads[1:]
	case inReply:
		beside = to.ReplyLen
	}
	for _, n := range to.Written {
		beside += xdr.RoundUp(n)
	}
	return checkPositions(reads, beside)
}

// checkOffsets checks that no segment extends beyond offset 2^64-1.
func checkOffsets(h *Header) error {
	for i := range h.Reads {
		if err := checkOffset(&h.Reads[i].Segment); err != nil {
			return err
		}
	}
	for _, w := range h.Writes {
		for i := range w {
			if err := checkOffset(&w[i]); err != nil {
				return err
			}
		}
	}
	for i := range h.Reply {
		if err := checkOffset(&h.Reply[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkOffset(s *chunks.Segment) error {
	if s.Length > 0 && s.Offset+uint64(s.Length)-1 < s.Offset {
		return fmt.Errorf("%w: segment of %d bytes at offset %#x", errList, s.Length, s.Offset)
	}
	return nil
}

// readChunks sorts a read list by position and appends its chunks to dst. It checks that
//
//   - positions are multiples of four (section 3.4.5), and below 2 GiB;
//   - chunks do not overlap in the XDR stream (section 3.4.5.1);
//   - their lengths add up to at most limit. Otherwise the error wraps xdr.ErrLimit.
//
// Chunks without bytes are left out. XDR round-up in a chunk of its own, which senders should avoid
// (draft section 3.7), becomes the end of the chunk before it.
//
// A chunk at position zero is the message itself. The positions of the other chunks do not count
// it.
func readChunks(dst []ReadChunk, list []chunks.ReadSegment, limit int) ([]ReadChunk, error) {
	slices.SortStableFunc(list, func(a, b chunks.ReadSegment) int {
		switch {
		case a.Position < b.Position:
			return -1
		case a.Position > b.Position:
			return 1
		}
		return 0
	})
	sum, end := uint64(0), uint64(0)
	for i := 0; i < len(list); {
		first, pos, n := i, list[i].Position, uint64(0)
		for ; i < len(list) && list[i].Position == pos; i++ {
			n += uint64(list[i].Length)
		}
		if sum += n; sum > uint64(limit) {
			return dst, fmt.Errorf("%w: read chunks of more than %d bytes: %w",
				errList, limit, xdr.ErrLimit)
		}
		if len(dst) > 0 && dst[len(dst)-1].roundedUp(pos, n) {
			last := &dst[len(dst)-1]
			last.Len += int(n)
			last.Segments = list[first-len(last.Segments) : i : i]
			continue
		}
		switch {
		case pos%xdr.Unit != 0:
			return dst, fmt.Errorf("%w: read chunk at position %d", errList, pos)
		case uint64(pos) < end:
			return dst, fmt.Errorf("%w: read chunk at position %d overlaps the one before, "+
				"which ends at %d", errList, pos, end)
		case n == 0:
			continue
		}
		if pos != 0 {
			end = uint64(pos) + uint64(xdr.RoundUp(int(n)))
		}
		dst = append(dst, ReadChunk{Position: int(pos), Len: int(n), Segments: list[first:i:i]})
	}
	return dst, nil
}

// roundedUp reports whether n bytes at a position are the XDR round-up of c.
func (c *ReadChunk) roundedUp(position uint32, n uint64) bool {
	return c.Position != 0 && n > 0 && n == uint64(xdr.PadLen(c.Len)) &&
		uint64(position) == uint64(c.Position)+uint64(c.Len)
}

// checkPositions checks that the chunks fit into a stream with beside other bytes.
func checkPositions(reads []ReadChunk, beside int) error {
	for i := range reads {
		if reads[i].Position > beside {
			return fmt.Errorf("%w: read chunk at position %d, past the end of the message",
				errList, reads[i].Position)
		}
		beside += xdr.RoundUp(reads[i].Len)
	}
	return nil
}

// checkWritten checks the write list and the reply chunk of a reply.
func checkWritten(h *Header, lim *Limits, to *Lists) (err error) {
	if h.Reply.Len() > 0 {
		if !lim.Offered.HasReply {
			return fmt.Errorf("%w: reply chunk that was not offered", errList)
		}
		if to.ReplyLen, err = writtenLen(lim.Offered.Reply, h.Reply, false); err != nil {
			return err
		}
	}
	if n, offered := len(h.Writes), len(lim.Offered.Writes); n > 0 && n != offered {
		return fmt.Errorf("%w: %d write chunks returned of %d", errList, n, offered)
	}
	for i, returned := range h.Writes {
		n, err := writtenLen(lim.Offered.Writes[i], returned, lim.Draft)
		if err != nil {
			if _, other := writtenLen(lim.Offered.Writes[i], returned, true); other == nil {
				err = fmt.Errorf("%w: %w", err, ErrRoundUp)
			}
			return err
		}
		to.Written = append(to.Written, n)
	}
	return nil
}

// writtenLen checks a chunk that a peer returned against the one that was offered, and returns how
// many bytes the peer says it has written. Only the last segment used may be filled in part
// (section 3.4.6).
//
// With roundUp that number may include the XDR round-up (draft section 3.7). The last segment used
// may then be up to 3 bytes longer than offered, if that makes the number of bytes a multiple of
// four. So the result may be more than was offered in all: do not slice memory by it unchecked.
func writtenLen(offered, returned chunks.WriteChunk, roundUp bool) (int, error) {
	if len(returned) != len(offered) {
		return 0, fmt.Errorf("%w: %d segments returned of a chunk of %d",
			errList, len(returned), len(offered))
	}
	n, full, room := 0, true, uint64(0)
	for i, s := range returned {
		o := offered[i]
		room += uint64(o.Length)
		switch {
		case s.Handle != o.Handle || s.Offset != o.Offset:
			return 0, fmt.Errorf("%w: segment %d returned is not the one offered", errList, i)
		case s.Length > o.Length && (!roundUp || s.Length-o.Length != uint32(-room%xdr.Unit)):
			return 0, fmt.Errorf("%w: %d bytes returned in a segment of %d",
				errList, s.Length, o.Length)
		case s.Length > 0 && !full:
			return 0, fmt.Errorf("%w: segment %d filled behind a gap or a round-up", errList, i)
		}
		full = full && s.Length == o.Length
		n += int(s.Length)
	}
	return n, nil
}
