package chunks

import (
	"errors"
	"math"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ErrHeader: a header with its chunk lists does not fit in an inline message.
var ErrHeader = errors.New("too many chunk segments for the inline size")

// ErrNoReads: a message does not fit inline, and the peer cannot fetch it by RDMA Read.
var ErrNoReads = errors.New("the message does not fit inline and the peer can make no RDMA Reads")

// FixedLen is the length in bytes of the four words at the beginning of every header (draft section
// 4.1).
const FixedLen = 4 * 4

// Limits are the limits of a plan. Sizes are in bytes.
type Limits struct {
	InlineSend int // largest Send to the peer, header included
	InlineRecv int // largest Send from the peer, header included
	MinChunk   int // smaller bulk data never becomes a chunk of its own
	// ChunkFrom is the length from which bulk data of a call, and its results, become chunks even
	// if all fits inline; 0 means never.
	ChunkFrom   int
	SegmentSize int // largest segment
	RegionSize  int // largest window, which has its own segments; 0: no limit

	NoReads       bool // the peer cannot make RDMA Reads: there are no read chunks
	NoReplyChunks bool // neither write chunks nor a reply chunk are offered
}

// CallPlan says how a call and its reply will travel.
type CallPlan struct {
	// ReadChunkFrom is the length from which bulk data of the call becomes a read chunk.
	// NoReadChunks means that none does.
	ReadChunkFrom int
	// Long says that the rest of the call is a read chunk at position zero (RDMA_NOMSG).
	Long bool
	// WriteResults says that each result gets a write chunk.
	WriteResults bool
	// ReplyChunk says that there is a reply chunk for the rest of the reply.
	ReplyChunk bool
}

// NoReadChunks is the ReadChunkFrom of a plan without read chunks for bulk data.
const NoReadChunks = math.MaxInt

// PlanCall decides how a call and its reply will travel (draft sections 3.8, 5.1 and 5.2).
//
//   - A call that fits goes inline. Otherwise its bulk data goes by read chunk, and if the rest
//     still does not fit, the rest too.
//   - A reply that may not fit inline gets write chunks for its results, and if the rest may still
//     not fit, a reply chunk for the rest. maxReply is the largest length of the reply without
//     results.
//   - Bulk data of at least Limits.ChunkFrom bytes goes by read chunk in any case, unless the
//     header cannot hold the segments or the peer cannot read. If one result is that long, all
//     results get write chunks.
//
// PlanCall fails with ErrHeader if the header of the call, or that of its reply, which returns the
// chunks for results, cannot hold the segments. It fails with ErrNoReads if the call does not fit
// inline and the peer cannot read.
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
		// An empty result has a segment, too: svcrdma refuses a chunk without segments.
		segs += lim.segments(max(len(r), 1))
		apart = apart || lim.apart(len(r))
	}
	if header+reply+data <= lim.InlineRecv && header+writeEntryLen*len(results)+segmentLen*segs+reply > lim.InlineRecv {
		apart = false // the chunks would take more room than the results
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

// ReplyPlan says how the parts of a reply that have no write chunk will travel.
type ReplyPlan struct {
	// ReadChunkFrom is the length from which bulk data goes by read chunk. NoReadChunks means that
	// none does.
	ReadChunkFrom int
	// Long says that the rest of the reply does not go inline (RDMA_NOMSG). It goes by reply chunk
	// if it fits there, and otherwise as a read chunk at position zero.
	Long bool
}

// PlanReply decides how a reply will travel whose reader can fetch what does not fit inline (draft
// sections 3.8, 5.1 and 5.2). Bulk data then goes by read chunk. If the rest is still too long, it
// goes by reply chunk or read chunk.
//
// Items marked in without go by write chunk. header is the length of the header with these and the
// reply chunk, but without a read list. room is the length of the reply chunk.
//
// PlanReply fails with ErrHeader if the header cannot hold the segments, and with ErrNoReads if the
// peer cannot read.
func PlanReply(m *xdr.Message, without []bool, header int, room uint64, lim Limits) (ReplyPlan, error) {
	var p ReplyPlan
	var err error
	lim.ChunkFrom = 0 // the client's chunks say already what it wants by chunk
	// The header bounds the number of segments of write chunks.
	p.ReadChunkFrom, p.Long, err = lim.reads(m, without, header, (header-FixedLen-emptyLists)/segmentLen, room)
	return p, err
}

// reads plans the read chunks for a message: for its items that are not marked in without, and for
// the message itself. header is the length of the header without a read list, and n its number of
// segments. A reply chunk has room bytes for the message.
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
	case inline: // the segments would take more room than the data does
		return NoReadChunks, false, nil
	case away(reads, rest):
		return from, true, nil
	case away(0, whole):
		// There are too many pieces of bulk data: put them in one chunk with the rest.
		return NoReadChunks, true, nil
	}
	return NoReadChunks, true, ErrHeader
}

// segments returns how many segments n bytes of contiguous memory take.
func (lim *Limits) segments(n int) int {
	if lim.RegionSize == 0 || n <= lim.RegionSize {
		return segments(n, lim.SegmentSize)
	}
	return n/lim.RegionSize*segments(lim.RegionSize, lim.SegmentSize) +
		segments(n%lim.RegionSize, lim.SegmentSize)
}

// apart reports whether bulk data of n bytes goes by chunk even if it fits inline.
func (lim *Limits) apart(n int) bool { return lim.ChunkFrom > 0 && n >= lim.ChunkFrom }
