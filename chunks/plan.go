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
func PlanCall(m *xdr.Message, results [][]byte, maxReply int, lim Limits) (CallPlan, error) {
	p := CallPlan{ReadFrom: NoReads}
	header := FixedLen + emptyLists

	reply := header + xdr.RoundUp(maxReply)
	writes, data := 0, 0
	for _, r := range results {
		writes += writeEntryLen + segmentLen*segments(len(r), lim.SegmentSize)
		data += xdr.RoundUp(len(r))
	}
	if data > 0 && reply+data > lim.InlineRecv {
		p.WriteResults = true
		header += writes
		reply += writes
		data = 0
	}
	if reply+data > lim.InlineRecv {
		p.ReplyChunk = true
		header += replyChunkLen + segmentLen*segments(maxReply, lim.SegmentSize)
	}

	if header+m.Len() <= lim.InlineSend {
		return p, nil
	}
	rest := m.Len()
	for i := range m.Bulk {
		if n := m.Bulk[i].Len; n > 0 && n >= lim.MinChunk {
			p.ReadFrom = max(lim.MinChunk, 1)
			header += readEntryLen * segments(n, lim.SegmentSize)
			rest -= xdr.RoundUp(n)
		}
	}
	if header+rest > lim.InlineSend {
		p.Long = true
		header += readEntryLen * segments(rest, lim.SegmentSize)
	}
	if header > lim.InlineSend {
		return p, ErrHeader
	}
	return p, nil
}
