package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ProtocolVersion is the version of the header (draft section 4.1).
const ProtocolVersion = 1

// CreditsOffset is the offset of the credits in a header, after the XID and the version.
const CreditsOffset = 8

// Type is the type of a message: rdma_proc of draft section 4.3.
type Type uint32

// The message types.
const (
	TypeMsg   Type = 0 // RDMA_MSG: an RPC message follows the header
	TypeNoMsg Type = 1 // RDMA_NOMSG: the RPC message is in a chunk
	TypeMsgP  Type = 2 // RDMA_MSGP: like RDMA_MSG, with padding in the message (Draft)
	TypeDone  Type = 3 // RDMA_DONE: the client has read the chunks of a reply (Draft)
	TypeError Type = 4 // RDMA_ERROR: there was an error in a header or its chunks
)

// String returns the draft's name, such as "RDMA_MSG".
func (t Type) String() string {
	names := [...]string{"RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE", "RDMA_ERROR"}
	if t < Type(len(names)) {
		return names[t]
	}
	return fmt.Sprintf("rdma_proc %d", uint32(t))
}

// ErrCode says what was wrong with a header: rpc_rdma_errcode of draft section 4.3.
type ErrCode uint32

// The error codes.
const (
	ErrVers  ErrCode = 1 // ERR_VERS: version not supported
	ErrChunk ErrCode = 2 // ERR_CHUNK: the header or its chunks are invalid
)

// String returns the draft's name, such as "ERR_CHUNK".
func (c ErrCode) String() string {
	switch c {
	case ErrVers:
		return "ERR_VERS"
	case ErrChunk:
		return "ERR_CHUNK"
	}
	return fmt.Sprintf("rpc_rdma_errcode %d", uint32(c))
}

// Header is the RPC-over-RDMA header at the beginning of every message: struct rdma_msg of draft
// section 4.3.
type Header struct {
	XID     uint32 // the XID of the RPC message
	Version uint32
	Credits uint32 // requested in a call, granted in a reply
	Type    Type

	// Only in RDMA_MSGP.
	Align     uint32 // alignment of padded opaque data, in bytes
	Threshold uint32 // length in bytes at or above which opaque data is padded

	// Only in RDMA_MSG, RDMA_NOMSG and RDMA_MSGP.
	chunks.Lists

	// Only in RDMA_ERROR.
	Err       ErrCode
	Low, High uint32    // with ERR_VERS: the versions supported
	Extra     [8]uint32 // with an unknown code
}

var (
	// ErrShort: a message is shorter than the four words of every header.
	ErrShort = errors.New("message shorter than a header")
	// ErrVersion: a header has another version than 1.
	ErrVersion = errors.New("header version not supported")
	// ErrMalformed: a header cannot be decoded, or has contents that are not allowed.
	ErrMalformed = errors.New("malformed header")
	// ErrXID: rdma_xid differs from the XID of the RPC message (draft section 4.1).
	ErrXID = fmt.Errorf("%w: rdma_xid differs from the XID of the message", ErrMalformed)
	// ErrReplyReadList: a reply with a read list, which RFC 8166 does not allow (section 4.3.1).
	ErrReplyReadList = fmt.Errorf("%w: read list in a reply: the peer speaks the draft's dialect",
		ErrMalformed)
	// ErrRoundUp: a write chunk came back longer than it was offered, by the XDR round-up. Only the
	// draft counts that (section 3.7).
	ErrRoundUp = errors.New("round-up counted in a write chunk: the peer speaks the draft's dialect")
)

// Len returns the encoded length in bytes.
func (h *Header) Len() int {
	n := chunks.FixedLen
	switch h.Type {
	case TypeMsg, TypeNoMsg:
		n += h.Lists.Len()
	case TypeMsgP:
		n += 8 + h.Lists.Len()
	case TypeError:
		n += 4
		switch h.Err {
		case ErrVers:
			n += 8
		case ErrChunk:
		default:
			n += 4 * len(h.Extra)
		}
	}
	return n
}

// Append appends the encoded header to b.
func (h *Header) Append(b []byte) []byte {
	if h.Type == TypeMsg && h.Lists.Len() == noLists {
		return h.appendBare(b)
	}
	return h.appendWhole(b)
}

// appendBare is Append for an RDMA_MSG without chunks, the most common message.
func (h *Header) appendBare(b []byte) []byte {
	n := len(b)
	b = append(b, bareHeader[:]...)
	binary.BigEndian.PutUint32(b[n:], h.XID)
	binary.BigEndian.PutUint32(b[n+4:], h.Version)
	binary.BigEndian.PutUint32(b[n+8:], h.Credits)
	return b
}

// appendWhole is Append for all other messages.
func (h *Header) appendWhole(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint32(b, h.XID)
	b = be.AppendUint32(b, h.Version)
	b = be.AppendUint32(b, h.Credits)
	b = be.AppendUint32(b, uint32(h.Type))
	switch h.Type {
	case TypeMsgP:
		b = be.AppendUint32(b, h.Align)
		b = be.AppendUint32(b, h.Threshold)
		fallthrough
	case TypeMsg, TypeNoMsg:
		b = h.Lists.Append(b)
	case TypeError:
		b = be.AppendUint32(b, uint32(h.Err))
		switch h.Err {
		case ErrVers:
			b = be.AppendUint32(b, h.Low)
			b = be.AppendUint32(b, h.High)
		case ErrChunk:
		default:
			for _, w := range h.Extra {
				b = be.AppendUint32(b, w)
			}
		}
	}
	return b
}

// IsLong reports whether there is a read chunk at position zero.
func IsLong(h *Header) bool {
	for i := range h.Reads {
		if h.Reads[i].Position == 0 {
			return true
		}
	}
	return false
}

// BareLen is the length in bytes of the header of an RDMA_MSG without chunks.
const BareLen = chunks.FixedLen + noLists

// noLists is the length in bytes of three empty chunk lists.
const noLists = 3 * 4

// bareHeader is an RDMA_MSG without chunks, apart from its first three words: all zeros.
var bareHeader [BareLen]byte

// bare reports whether b begins with three empty chunk lists.
func bare(b []byte) bool {
	return len(b) >= noLists && binary.BigEndian.Uint64(b) == 0 && binary.BigEndian.Uint32(b[8:]) == 0
}

// reset empties the header and keeps the memory of its lists.
func (h *Header) reset() {
	h.XID, h.Version, h.Credits, h.Type = 0, 0, 0, 0
	h.Align, h.Threshold = 0, 0
	h.Lists.Reset()
	h.Err, h.Low, h.High, h.Extra = 0, 0, 0, [8]uint32{}
}

// Parse decodes the header at the beginning of b and returns its length. It fails with ErrShort,
// ErrVersion or ErrMalformed. Except after ErrShort, the four fixed words are set even then. An
// RDMA_ERROR of any version is decoded, because servers echo the version of the request.
func (h *Header) Parse(b []byte) (int, error) {
	h.reset()
	if len(b) < chunks.FixedLen {
		return 0, ErrShort
	}
	be := binary.BigEndian
	h.XID, h.Version = be.Uint32(b), be.Uint32(b[4:])
	h.Credits, h.Type = be.Uint32(b[CreditsOffset:]), Type(be.Uint32(b[12:]))
	switch {
	case h.Version != ProtocolVersion && h.Type != TypeError:
		return 0, ErrVersion
	case h.Type == TypeMsg && bare(b[chunks.FixedLen:]):
		return BareLen, nil
	}
	var d xdr.Decoder
	d.Reset(b, nil)
	d.Raw(chunks.FixedLen)
	switch h.Type {
	case TypeMsgP:
		h.Align = d.Uint32()
		h.Threshold = d.Uint32()
		fallthrough
	case TypeMsg, TypeNoMsg:
		if err := h.Lists.Decode(&d); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	case TypeDone:
	case TypeError:
		h.Err = ErrCode(d.Uint32())
		switch h.Err {
		case ErrVers:
			h.Low = d.Uint32()
			h.High = d.Uint32()
		case ErrChunk:
		default:
			for i := range h.Extra {
				h.Extra[i] = d.Uint32()
			}
		}
	default:
		return 0, fmt.Errorf("%w: %v", ErrMalformed, h.Type)
	}
	if d.Err() != nil {
		return 0, fmt.Errorf("%w: %w", ErrMalformed, d.Err())
	}
	return d.Position(), nil
}
