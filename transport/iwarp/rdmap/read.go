package rdmap

import (
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ErrShort: the message ends inside its header.
var ErrShort = errors.New("rdmap: message shorter than its header")

// ReadRequestLen is the length in bytes of a Read Request's payload.
const ReadRequestLen = 28

// ReadRequest is the header that follows the DDP header of a Read Request
// (RFC 5040 section 4.4). It is the whole payload.
type ReadRequest struct {
	SinkSTag     transport.STag // the destination, at the requester
	SinkOffset   uint64
	Len          uint32         // bytes to read
	SourceSTag   transport.STag // the source, at the responder
	SourceOffset uint64
}

// Append appends the encoded header, ReadRequestLen bytes, to b.
func (r *ReadRequest) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(r.SinkSTag))
	b = binary.BigEndian.AppendUint64(b, r.SinkOffset)
	b = binary.BigEndian.AppendUint32(b, r.Len)
	b = binary.BigEndian.AppendUint32(b, uint32(r.SourceSTag))
	return binary.BigEndian.AppendUint64(b, r.SourceOffset)
}

// ParseReadRequest parses the payload of a Read Request. It fails only with ErrShort. It ignores
// bytes behind the header; callers that must refuse them check the length.
func ParseReadRequest(payload []byte) (ReadRequest, error) {
	if len(payload) < ReadRequestLen {
		return ReadRequest{}, ErrShort
	}
	return ReadRequest{
		SinkSTag:     transport.STag(binary.BigEndian.Uint32(payload[0:])),
		SinkOffset:   binary.BigEndian.Uint64(payload[4:]),
		Len:          binary.BigEndian.Uint32(payload[12:]),
		SourceSTag:   transport.STag(binary.BigEndian.Uint32(payload[16:])),
		SourceOffset: binary.BigEndian.Uint64(payload[20:]),
	}, nil
}
