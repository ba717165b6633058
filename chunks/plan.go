package chunks

import (
	"errors"
	"math"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ErrHeader: the header with its chunk lists does not fit in an inline message.
var ErrHeader = errors.New("too many chunk segments for the inline size")

// ErrNoReads: the message does not fit inline, and the peer cannot read it.
var ErrNoReads = errors.New("the message does not fit inline and the peer can make no RDMA Reads")

// FixedLen is the length in bytes of the four words that begin every header
// (draft section 4.1).
const FixedLen = 4 * 4

// Limits is what a layout must keep to. Sizes are in bytes.
type Limits struct {
	InlineSend int // largest Send to the peer, header included
	InlineRecv int // largest Send from the peer, header included
	MinChunk   int // smaller bulk data is not moved on its own
	// bulk data of a call and its results that long go by chunk even where all fits inline; 0: none
	// does
	ChunkFrom   int
	SegmentSize int // largest segment
	RegionSize  int // largest window, each of which has segments of its own; 0: no limit

	NoReads       bool // the peer can make no RDMA Reads here: nothing goes by read chunk
	NoReplyChunks bool // neither write chunks nor a reply chunk are offered
}

// CallPlan says how a call and its reply are to travel.
type CallPlan struct {
	// ReadChunkFrom is the length from which on bulk data of the call goes by read chunk;
	// none does when it is NoReadChunks.
	ReadChunkFrom int
	// Long says that the rest of the call is a position-zero read chunk (RDMA_NOMSG).
	Long bool
	// WriteResults says that each result gets a write chunk.
	WriteResults bool
	// ReplyChunk says that the rest of the reply gets a reply chunk.
	ReplyChunk bool
}

// NoReadChunks is the ReadChunkFrom of a call without read chunks for bulk data.
const NoReadChunks = math.MaxInt

// PlanCall lays a call out (draft section 3.8, 5.1, 5.2): everything inline if it
// fits; else bulk data by read chunk; else the message itself too. A reply that may
// not fit inline gets write chunks for its results, and a reply chunk for the rest when
// that may not fit either. maxReply is the largest length of the reply without results.
//
// Bulk data from Limits.ChunkFrom on goes by read chunk all the same, unless the headers cannot
// hold the segments, or the peer cannot read; and so do all results by write chunk if one of them
// has that length.
//
// It fails with ErrHeader when the header of the call or of its reply, which returns the chunks for
// results, cannot hold the segments, and with ErrNoReads when a call that the peer cannot read does
// not fit inline.
func PlanCall(m *xdr.Message, results [][]byte, maxReply int, lim Limits) (CallPlan, error) {
	p, err := planCall(m, results, maxReply, lim)
	if err != nil && lim.ChunkFrom > 0 {
		lim.ChunkFrom = 0
		p, err = planCall(m, results, maxReply, lim)
	}
	return p, err
}

func planCall(m *xdr.Message, results [][]byte, maxReply int, lim Limits) (CallPlan, error) {
	p := CallPlan{ReadChunkFrom: NoReadChunks}
	header, n := FixedLen+emptyLists, 0 // of the reply: bytes, segments

	reply, data, segs, apart := xdr.RoundUp(maxReply), 0, 0, false
	for _, r := range results {
		data += xdr.RoundUp(len(r))
		// An empty result between others has a segment, too: svcrdma refuses a chunk without.
		segs += lim.segments(max(len(r), 1))
		apart = apart || lim.apart(len(r))
	}
	if header+reply+data <= lim.InlineRecv && header+writeEntryLen*len(results)+segmentLen*segs+reply > lim.InlineRecv {
		apart = false // its chunks would take more room than it
	}
	if !lim.NoReplyChunks && data > 0 && (apart || header+reply+data > lim.InlineRecv) {
		p.WriteResults = true
		header += writeEntryLen*len(results) + segmentLen*segs
		n += segs
		data = 0
	}
	if !lim.NoReplyChunks && header+reply+data > lim.InlineRecv {
		p.ReplyChunk = true
		segs = lim.segments(maxReply)
		header += replyChunkLen + segmentLen*segs
		n += segs
	}
	if header > lim.InlineRecv {
		return p, ErrHeader
	}

	var err error
	p.ReadChunkFrom, p.Long, err = lim.reads(m, nil, header, n, 0)
	return p, err
}

// ReplyPlan says how the part of a reply is to travel that does not go by write chunk.
type ReplyPlan struct {
	// ReadChunkFrom is the length from which on bulk data goes by read chunk; none does when it is
	// NoReadChunks.
	ReadChunkFrom int
	// Long says that the rest of the reply does not go inline (RDMA_NOMSG): it goes by reply chunk
	// where it fits in that, and else is a position-zero read chunk.
	Long bool
}

// PlanReply lays a reply out whose reader can fetch what does not fit inline (draft sections 3.8,
// 5.1, 5.2): bulk data by read chunk, and if the rest is still too long, that by reply chunk, or by
// read chunk, too. The items marked in without go by write chunk; header is the length of the
// header with their chunks and the reply chunk, of room bytes, and without a read list.
//
// It fails with ErrHeader when the header cannot hold the segments, and with ErrNoReads when the
// peer cannot read.
func PlanReply(m *xdr.Message, without []bool, header int, room uint64, lim Limits) (ReplyPlan, error) {
	var p ReplyPlan
	var err error
	lim.ChunkFrom = 0 // who reads a reply has said what it wants by chunk
	// There are at most as many segments of write chunks as fit in the header.
	p.ReadChunkFrom, p.Long, err = lim.reads(m, without, header, (header-FixedLen-emptyLists)/segmentLen, room)
	return p, err
}

// reads lays out the items of a message that are not marked in without, and the message itself,
// beside a header of that many bytes with n segments and no read list, and with a place of room
// bytes for the message.
func (lim *Limits) reads(m *xdr.Message, without []bool, header, n int, room uint64) (from int, long bool, err error) {
	fits := func(reads, rest int) bool {
		return header+readEntryLen*reads+rest <= lim.InlineSend && n+reads <= MaxSegments
	}
	away := func(reads, rest int) bool {
		return uint64(rest) <= room && fits(reads, 0) || fits(reads+lim.segments(rest), 0)
	}
	whole, apart := len(m.Inline), false
	for i := range m.Bulk {
		if i >= len(without) || !without[i] {
			whole += xdr.RoundUp(m.Bulk[i].Len)
			apart = apart || lim.apart(m.Bulk[i].Len)
		}
	}
	inline := fits(0, whole)
	from = max(lim.MinChunk, 1)
	switch {
	case inline && (!apart || lim.NoReads):
		return NoReadChunks, false, nil
	case lim.NoReads:
		return NoReadChunks, false, ErrNoReads
	case inline:
		from = lim.ChunkFrom
	case apart:
		from = min(from, lim.ChunkFrom)
	}
	reads, rest := 0, whole
	for i := range m.Bulk {
		if n := m.Bulk[i].Len; n >= from && (i >= len(without) || !without[i]) {
			reads += lim.segments(n)
			rest -= xdr.RoundUp(n)
		}
	}
	switch {
	case fits(reads, rest):
		return from, false, nil
	case inline: // the segments would take more room than the data
		return NoReadChunks, false, nil
	case away(reads, rest):
		return from, true, nil
	case away(0, whole):
		// Too many pieces of bulk data: they go in one chunk with the rest.
		return NoReadChunks, true, nil
	}
	return NoReadChunks, true, ErrHeader
}

// segments returns how many segments n bytes of memory take that is not scattered.
func (lim *Limits) segments(n int) int {
	if lim.RegionSize == 0 || n <= lim.RegionSize {
		return segments(n, lim.SegmentSize)
	}
	return n/lim.RegionSize*segments(lim.RegionSize, lim.SegmentSize) +
		segments(n%lim.RegionSize, lim.SegmentSize)
}

// apart reports whether bulk data of n bytes goes by chunk in any case.
func (lim *Limits) apart(n int) bool { return lim.ChunkFrom > 0 && n >= lim.ChunkFrom }
