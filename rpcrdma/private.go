package rpcrdma

import "encoding/binary"

// Private data of connection setup (RFC 8797 section 4): what each side can take,
// said before the first message.
const (
	privateMagic   = 0xf6ab0e18
	privateVersion = 1
	privateLen     = 8
	flagInvalidate = 1 << 0 // remote invalidation supported
)

const (
	// DefaultInline is the inline size towards a peer that says nothing, in bytes
	// (RFC 8166 section 3.3.2, RFC 8797 section 4).
	DefaultInline = 1024
	// MaxInline is the largest inline size in bytes: the field has eight bits,
	// (size/1024)-1, of which this project uses six.
	MaxInline = 65536
	// inlineUnit is what inline sizes are a multiple of (RFC 8797 section 4).
	inlineUnit = 1024
)

// private is the content of the private data.
type private struct {
	Invalidate bool // the sender understands Send with Invalidate
	Send, Recv int  // its buffers, in bytes
}

// append appends the encoded private data to b.
func (p *private) append(b []byte) []byte {
	flags := byte(0)
	if p.Invalidate {
		flags |= flagInvalidate
	}
	b = binary.BigEndian.AppendUint32(b, privateMagic)
	return append(b, privateVersion, flags, byte(p.Send/inlineUnit-1), byte(p.Recv/inlineUnit-1))
}

// parsePrivate reads a peer's private data. What is not RFC 8797's, or of another
// version, says nothing, and the defaults of RFC 8166 hold. A provider may hand up
// bytes that precede or follow it (RFC 8797 warns of that), such as the zeros that RoCE
// pads with: only the beginning is looked at.
func parsePrivate(b []byte) private {
	if len(b) < privateLen || binary.BigEndian.Uint32(b) != privateMagic || b[4] != privateVersion {
		return private{Send: DefaultInline, Recv: DefaultInline}
	}
	return private{
		Invalidate: b[5]&flagInvalidate != 0,
		Send:       (int(b[6]) + 1) * inlineUnit,
		Recv:       (int(b[7]) + 1) * inlineUnit,
	}
}
