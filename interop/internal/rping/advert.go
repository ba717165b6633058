package rping

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Advert tells the peer where a buffer is. On the wire it is 16 bytes, big-endian: the tagged
// offset (8), the steering tag (4) and the size (4).
type Advert struct {
	Offset uint64
	STag   transport.STag
	Size   uint32 // in bytes
}

// advertLen is the length in bytes of every message.
const advertLen = 16

// Append appends the message to b.
func (a Advert) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, a.Offset)
	b = binary.BigEndian.AppendUint32(b, uint32(a.STag))
	return binary.BigEndian.AppendUint32(b, a.Size)
}

// ParseAdvert parses a message, which must be 16 bytes long.
func ParseAdvert(b []byte) (Advert, error) {
	if len(b) != advertLen {
		return Advert{}, fmt.Errorf("rping: a message of %d bytes, want %d", len(b), advertLen)
	}
	return Advert{
		Offset: binary.BigEndian.Uint64(b),
		STag:   transport.STag(binary.BigEndian.Uint32(b[8:])),
		Size:   binary.BigEndian.Uint32(b[12:]),
	}, nil
}

// remote is the place in the peer's memory.
func (a Advert) remote() transport.Remote { return transport.Remote{STag: a.STag, Offset: a.Offset} }
