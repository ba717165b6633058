package rdma

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Each answer of the server begins with the window over its memory: the steering tag (4 bytes) and
// the tagged offset (8 bytes), big-endian.

func putWindow(p []byte, r transport.Region) {
	binary.BigEndian.PutUint32(p, uint32(r.STag))
	binary.BigEndian.PutUint64(p[4:], r.Base)
}

func parseWindow(p []byte) transport.Remote {
	return transport.Remote{
		STag:   transport.STag(binary.BigEndian.Uint32(p)),
		Offset: binary.BigEndian.Uint64(p[4:]),
	}
}
