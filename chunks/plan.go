package chunks

import (
	"errors"
	"math"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ErrHeader: the header with its chunk lists does not fit in an inline message.
var ErrHeader = errors.New("too many chunk segments for the inline size")

// FixedLen is the length in bytes of the four words that begin every header
// (draft section 4.1).
const FixedLen = 4 * 4

// Limits is what a layout must keep to. All are bytes.
type Limits struct {
	InlineSend  int // largest Send to the peer, header included
	InlineRecv  int // largest Send from the peer, header included
	MinChunk    int // smaller bulk data is not moved on its own
	SegmentSize int // largest segment
}

// CallPlan says how a call and its reply are to travel.
type CallPlan struct {
	// ReadFrom is the length from which on bulk data of the call goes by read chunk;
	// none does when it is NoReads.
	ReadFrom int
	// Long says that the rest of the call is a position-zero read chunk (RDMA_NOMSG).
	Long bool
	// WriteResults says that each result gets a write chunk.
	WriteResults bool
	// ReplyChunk says that the rest of the reply gets a reply chunk.
	ReplyChunk bool
}

// NoReads is the ReadFrom of a call without read chunks for bulk data.
const NoReads = math.MaxInt

// PlanCall lays a call out (draft section 3.8, 5.1, 5.2): everything inline if it
// fits; else bulk data by read chunk; else the message itself too. A reply that may
// not fit inline gets write chunks for its results, and a reply chunk for the rest when
// that may not fit either. maxReply is the largest length of the reply without results.
//
// It fails with ErrHeader when the header of the call or of its reply, which returns the
// chunks for results, cannot hold the segments.
func PlanCall(m *xdr.Message, results [][]byte, maxReply int, lim Limits) (CallPlan, error) {
	p := CallPlan{ReadFrom: NoReads}
	header, n := FixedLen+emptyLists, 0 // of the reply: bytes, segments

	reply, data, segs := xdr.RoundUp(maxReply), 0, 0
	for _, r := range results {
		data += xdr.RoundUp(len(r))
		segs += segments(len(r), lim.SegmentSize)
	}
	if data > 0 && header+reply+data > lim.InlineRecv {
		p.WriteResults = true
		header += writeEntryLen*len(results) + segmentLen*segs
		n += segs
		data = 0
	}
	if header+reply+data > lim.InlineRecv {
		p.ReplyChunk = true
		segs = segments(maxReply, lim.SegmentSize)
		header += replyChunkLen + segmentLen*segs
		n += segs
	}
	if header > lim.InlineRecv {
		return p, ErrHeader
	}

	// The call's header is that of the reply and the read list.
	fits := func(reads, rest int) bool {
		return header+readEntryLen*reads+rest <= lim.InlineSend && n+reads <= MaxSegments
	}
	if fits(0, m.Len()) {
		return p, nil
	}
	p.ReadFrom = max(lim.MinChunk, 1)
	reads, rest := 0, m.Len()
	for i := range m.Bulk {
		if n := m.Bulk[i].Len; n >= p.ReadFrom {
			reads += segments(n, lim.SegmentSize)
			rest -= xdr.RoundUp(n)
		}
	}
	if fits(reads, rest) {
		return p, nil
	}
	p.Long = true
	if fits(reads+segments(rest, lim.SegmentSize), 0) {
		return p, nil
	}
	// Too many pieces of bulk data: they go in one chunk with the rest.
	p.ReadFrom = NoReads
	if fits(segments(m.Len(), lim.SegmentSize), 0) {
		return p, nil
	}
	return p, ErrHeader
}
