package wire

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// threshold returns the rdma_thresh for padding a message. Draft section 3.9 says both that data
// "at or above" the threshold is padded and that data which "exceeds" it is. The result means the
// same either way: exactly the longer items of bulk data are padded, and nothing else. It reports
// false if there is no such threshold, or no such item.
func threshold(m *xdr.Message, without []bool, least int) (thresh int, ok bool) {
	// Opaque data in the inline bytes is shorter than these, at least by its length word.
	thresh = max(least, len(m.Inline))
	for slices.ContainsFunc(m.Bulk, func(it xdr.BulkItem) bool { return it.Len == thresh }) {
		if thresh--; thresh < len(m.Inline)-3 {
			return 0, false
		}
	}
	for i := range m.Bulk {
		if (i >= len(without) || !without[i]) && m.Bulk[i].Len > thresh {
			return thresh, true
		}
	}
	return 0, false
}

// Pad turns h into an RDMA_MSGP, if its message has data to pad to align and still fits in a Send
// of most bytes. least is the least threshold. It returns the number of padding bytes.
func Pad(h *Header, m *xdr.Message, without []bool, align, most, least int) (padding int) {
	if h.Type != TypeMsg {
		return 0
	}
	thresh, ok := threshold(m, without, least)
	if !ok {
		return 0
	}
	h.Type, h.Align, h.Threshold = TypeMsgP, uint32(align), uint32(thresh)
	base := h.Len()
	n := m.PaddedLen(base, without, align, thresh)
	if base+n > most {
		h.Type = TypeMsg
		return 0
	}
	return n - m.PaddedLen(base, without, 1, thresh)
}

// AppendPadded appends the message of an RDMA_MSGP to b, which ends with its header.
func AppendPadded(b []byte, h *Header, m *xdr.Message, without []bool) []byte {
	return m.AppendPadded(b, without, int(h.Align), int(h.Threshold))
}

// PaddedLen returns how many bytes AppendPadded appends.
func PaddedLen(h *Header, m *xdr.Message, without []bool) int {
	return m.PaddedLen(h.Len(), without, int(h.Align), int(h.Threshold))
}

// Padding returns how the data in an RDMA_MSGP is padded, after a header of n bytes, in a message
// in a receive of size bytes. An impossible alignment is ErrMalformed.
func Padding(h *Header, n, size int, above bool) (xdr.Padding, error) {
	if bits.OnesCount32(h.Align) != 1 || uint64(h.Align) > uint64(size) {
		return xdr.Padding{}, fmt.Errorf("%w: RDMA_MSGP with an alignment of %d, receives of %d bytes",
			ErrMalformed, h.Align, size)
	}
	thresh := uint64(h.Threshold)
	if above {
		thresh++
	}
	return xdr.Padding{Align: int(h.Align), Threshold: int(thresh), Base: n}, nil
}
