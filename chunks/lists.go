package chunks

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// MaxSegments is the largest number of segments accepted in the lists of one header. It limits the
// RDMA operations that one message can cause.
const MaxSegments = 1024

// ErrMalformed is wrapped by errors about a peer's chunk lists.
var ErrMalformed = errors.New("malformed chunk list")

// Segment is a piece of memory of the header's sender (struct xdr_rdma_segment, draft section 4.3).
type Segment struct {
	Handle uint32 // steering tag
	Length uint32 // bytes
	Offset uint64 // tagged offset
}

// ReadSegment is a piece of memory whose bytes belong at Position in the XDR stream (struct
// xdr_read_chunk). Segments with the same position are one chunk.
type ReadSegment struct {
	Position uint32
	Segment
}

// WriteChunk is memory for one result. Its segments are filled in order (struct xdr_write_chunk).
type WriteChunk []Segment

// Len returns the sum of the segments' lengths.
func (c WriteChunk) Len() uint64 {
	n := uint64(0)
	for i := range c {
		n += uint64(c[i].Length)
	}
	return n
}

// Lists are the three chunk lists of a header.
type Lists struct {
	Reads    []ReadSegment
	Writes   []WriteChunk
	Reply    WriteChunk
	HasReply bool // Reply is present, perhaps without segments

	segs []Segment // backing of Writes and Reply
}

// Encoded sizes in bytes (draft section 4.3).
const (
	emptyLists     = 3 * 4              // three absent optionals
	readEntryLen   = 4 + 4 + segmentLen // present, position, segment
	segmentLen     = 4 + 4 + 8          // handle, length, offset
	writeEntryLen  = 4 + 4              // present, count
	replyChunkLen  = 4                  // count; the presence word is counted already
	maxWriteChunks = MaxSegments
)

// Reset empties the lists and keeps their memory for reuse.
func (l *Lists) Reset() {
	l.Reads = l.Reads[:0]
	l.Writes = l.Writes[:0]
	l.Reply = nil
	l.HasReply = false
	l.segs = l.segs[:0]
}

// AddWrite appends a copy of chunk to the write list.
func (l *Lists) AddWrite(chunk []Segment) { l.Writes = append(l.Writes, l.keep(chunk)) }

// SetReply sets the reply chunk to a copy of chunk.
func (l *Lists) SetReply(chunk []Segment) { l.Reply, l.HasReply = l.keep(chunk), true }

func (l *Lists) keep(chunk []Segment) WriteChunk {
	first := len(l.segs)
	l.segs = append(l.segs, chunk...)
	return l.segs[first:len(l.segs):len(l.segs)]
}

// Len returns the encoded length in bytes.
func (l *Lists) Len() int {
	n := emptyLists + readEntryLen*len(l.Reads)
	for _, w := range l.Writes {
		n += writeEntryLen + segmentLen*len(w)
	}
	if l.HasReply {
		n += replyChunkLen + segmentLen*len(l.Reply)
	}
	return n
}

// Segments returns the number of segments in the lists.
func (l *Lists) Segments() int {
	n := len(l.Reads) + len(l.Reply)
	for _, w := range l.Writes {
		n += len(w)
	}
	return n
}

// Append appends the encoded lists to b: rdma_reads, rdma_writes and rdma_reply of draft section
// 4.3.
func (l *Lists) Append(b []byte) []byte {
	be := binary.BigEndian
	for i := range l.Reads {
		b = be.AppendUint32(b, 1)
		b = be.AppendUint32(b, l.Reads[i].Position)
		b = appendSegment(b, &l.Reads[i].Segment)
	}
	b = be.AppendUint32(b, 0)
	for _, w := range l.Writes {
		b = be.AppendUint32(b, 1)
		b = appendSegments(b, w)
	}
	b = be.AppendUint32(b, 0)
	if !l.HasReply {
		return be.AppendUint32(b, 0)
	}
	b = be.AppendUint32(b, 1)
	return appendSegments(b, l.Reply)
}

func appendSegments(b []byte, segs []Segment) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(segs)))
	for i := range segs {
		b = appendSegment(b, &segs[i])
	}
	return b
}

func appendSegment(b []byte, s *Segment) []byte {
	b = binary.BigEndian.AppendUint32(b, s.Handle)
	b = binary.BigEndian.AppendUint32(b, s.Length)
	return binary.BigEndian.AppendUint64(b, s.Offset)
}

// Decode reads the lists from d, reusing the memory of l. Its error wraps ErrMalformed.
func (l *Lists) Decode(d *xdr.Decoder) error {
	l.Reset()
	room := MaxSegments
	for d.Bool() {
		if room--; room < 0 {
			d.Fail(xdr.ErrLimit)
			break
		}
		l.Reads = append(l.Reads, ReadSegment{Position: d.Uint32(), Segment: decodeSegment(d)})
	}
	for d.Bool() {
		if len(l.Writes) == maxWriteChunks {
			d.Fail(xdr.ErrLimit)
			break
		}
		l.Writes = append(l.Writes, l.decodeSegments(d, &room))
	}
	if d.Bool() {
		l.Reply, l.HasReply = l.decodeSegments(d, &room), true
	}
	if d.Err() != nil {
		l.Reset()
		return fmt.Errorf("%w: %w", ErrMalformed, d.Err())
	}
	return nil
}

func (l *Lists) decodeSegments(d *xdr.Decoder, room *int) WriteChunk {
	n := d.Count(*room, segmentLen)
	*room -= n
	first := len(l.segs)
	for range n {
		l.segs = append(l.segs, decodeSegment(d))
	}
	return l.segs[first:len(l.segs):len(l.segs)]
}

func decodeSegment(d *xdr.Decoder) Segment {
	return Segment{Handle: d.Uint32(), Length: d.Uint32(), Offset: d.Uint64()}
}

// OneHandle returns the handle of all segments in the lists, if it is the same and there are any.
func (l *Lists) OneHandle() (uint32, bool) {
	var h uint32
	n := 0
	same := func(s *Segment) bool {
		if n++; n == 1 {
			h = s.Handle
		}
		return s.Handle == h
	}
	for i := range l.Reads {
		if !same(&l.Reads[i].Segment) {
			return 0, false
		}
	}
	for _, w := range l.Writes {
		for i := range w {
			if !same(&w[i]) {
				return 0, false
			}
		}
	}
	for i := range l.Reply {
		if !same(&l.Reply[i]) {
			return 0, false
		}
	}
	return h, n > 0
}
