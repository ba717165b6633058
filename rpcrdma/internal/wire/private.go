package wire

import "encoding/binary"

// Private data of connection setup (RFC 8797 section 4): each side says how long messages may be.
const (
	privateMagic   = 0xf6ab0e18
	privateVersion = 1
	flagInvalidate = 1 << 0 // remote invalidation supported

	// PrivateLen is the length in bytes.
	PrivateLen = 8
)

const (
	// DefaultInline is the inline size in bytes towards a peer that sends no private data (RFC 8166
	// section 3.3.2, RFC 8797 section 4).
	DefaultInline = 1024
	// MaxInline is the largest inline size in bytes. RFC 8797 section 4 has 8 bits for size/1024-1,
	// up to 256 KiB; this package uses 6 of them.
	MaxInline = 65536
	// InlineUnit divides all inline sizes (RFC 8797 section 4).
	InlineUnit = 1024
)

// Private is the content of the private data.
type Private struct {
	Invalidate bool // the sender understands Send with Invalidate
	Send, Recv int  // its buffers, in bytes
}

// Append appends the encoded private data to b.
func (p *Private) Append(b []byte) []byte {
	flags := byte(0)
	if p.Invalidate {
		flags |= flagInvalidate
	}
	b = binary.BigEndian.AppendUint32(b, privateMagic)
	return append(b, privateVersion, flags, byte(p.Send/InlineUnit-1), byte(p.Recv/InlineUnit-1))
}

// ParsePrivate reads a peer's private data. The defaults of RFC 8166 hold if it is not that of RFC
// 8797, or of another version. Only its beginning counts, because a provider may deliver more bytes
// after it, such as the zeros that RoCE pads with (RFC 8797 warns of that).
func ParsePrivate(b []byte) Private {
	if len(b) < PrivateLen || binary.BigEndian.Uint32(b) != privateMagic || b[4] != privateVersion {
		return Private{Send: DefaultInline, Recv: DefaultInline}
	}
	return Private{
		Invalidate: b[5]&flagInvalidate != 0,
		Send:       (int(b[6]) + 1) * InlineUnit,
		Recv:       (int(b[7]) + 1) * InlineUnit,
	}
}
