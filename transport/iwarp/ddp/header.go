package ddp

import (
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// The values of the version field. RDMAP always has the same version. RFC 5041 section 4.1 defines
// 1. Version 0 is that of the RDMA Consortium, which differs in the number only
// (draft-carrier-rddp-rnic-interop-00 section 3).
const (
	VersionRDMAC = 0
	Version      = 1
)

// Lengths of the two headers in bytes, including the control octet (RFC 5041 sections 4.2 and 4.3).
const (
	TaggedLen   = 14
	UntaggedLen = 18
)

// The untagged queues, numbered by the layer above (RFC 5040 section 4).
const (
	QueueSend        = 0 // Sends of all kinds
	QueueReadRequest = 1
	QueueTerminate   = 2
)

// The DDP control octet (RFC 5041 section 4.1). The bits between the flags and the version are
// reserved.
const (
	flagTagged  = 0x80
	flagLast    = 0x40
	maskVersion = 0x03
)

// ErrShort: the segment ends inside its header. No Terminate code stands for this error.
var ErrShort = errors.New("impossible length: a segment shorter than its DDP header")

// Header is the header of a segment. Tagged says which of the two groups of fields below is used.
type Header struct {
	Tagged  bool
	Last    bool  // the last segment of its message
	Version uint8 // two bits

	// Control is the first octet of RsvdULP. RDMAP keeps its control octet there.
	Control byte

	// Tagged model (RFC 5041 section 4.2).
	STag   transport.STag
	Offset uint64 // TO: the payload's place in the address space of STag, in bytes

	// Untagged model (RFC 5041 section 4.3).
	ULP   uint32 // the other 32 bits of RsvdULP: RDMAP's Invalidate STag
	Queue uint32 // QN
	MSN   uint32 // message sequence number; the first in a queue is 1
	MO    uint32 // the payload's place in the message, in bytes
}

// Len returns the length of the encoded header in bytes.
func (h *Header) Len() int {
	if h.Tagged {
		return TaggedLen
	}
	return UntaggedLen
}

// Append appends the encoded header, Len bytes, to b. Reserved bits are zero.
func (h *Header) Append(b []byte) []byte {
	c := h.Version & maskVersion
	if h.Last {
		c |= flagLast
	}
	if h.Tagged {
		b = append(b, c|flagTagged, h.Control)
		b = binary.BigEndian.AppendUint32(b, uint32(h.STag))
		return binary.BigEndian.AppendUint64(b, h.Offset)
	}
	b = append(b, c, h.Control)
	b = binary.BigEndian.AppendUint32(b, h.ULP)
	b = binary.BigEndian.AppendUint32(b, h.Queue)
	b = binary.BigEndian.AppendUint32(b, h.MSN)
	return binary.BigEndian.AppendUint32(b, h.MO)
}

// IsTagged reports whether a segment is tagged. Its first byte is enough to tell.
func IsTagged(segment []byte) bool { return segment[0]&flagTagged != 0 }

// Parse splits a segment into its header and its payload, which aliases segment. It fails only with
// ErrShort. It ignores reserved bits. It does not check the version: the answer to a wrong version
// depends on Tagged, so that is left to the caller.
func Parse(segment []byte) (h Header, payload []byte, err error) {
	if len(segment) < TaggedLen {
		return Header{}, nil, ErrShort
	}
	h.Tagged = segment[0]&flagTagged != 0
	h.Last = segment[0]&flagLast != 0
	h.Version = segment[0] & maskVersion
	h.Control = segment[1]
	if h.Tagged {
		h.STag = transport.STag(binary.BigEndian.Uint32(segment[2:]))
		h.Offset = binary.BigEndian.Uint64(segment[6:])
		return h, segment[TaggedLen:], nil
	}
	if len(segment) < UntaggedLen {
		return Header{}, nil, ErrShort
	}
	h.ULP = binary.BigEndian.Uint32(segment[2:])
	h.Queue = binary.BigEndian.Uint32(segment[6:])
	h.MSN = binary.BigEndian.Uint32(segment[10:])
	h.MO = binary.BigEndian.Uint32(segment[14:])
	return h, segment[UntaggedLen:], nil
}
