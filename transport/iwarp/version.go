package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// version is that of DDP and RDMAP on a connection: 1, or 0 with RNICs of the RDMA Consortium,
// where the setup has come to that (mpa/rnicv0.go). Nothing else here knows of version 0, which is
// taken to differ in its number only. It was never tried on hardware: no such RNIC was at hand. It
// was tried between two ends of this package, and with scripted peers.
type version uint8

// stamp enters into h the version, and the kind of message.
func (v version) stamp(h *ddp.Header, op rdmap.Opcode) {
	h.Version, h.Control = uint8(v), rdmap.Control(uint8(v), op)
}

// operation is the kind of message of a segment, if that is of version v of RDMAP.
func (v version) operation(h *ddp.Header) (rdmap.Opcode, bool) {
	got, op := rdmap.ParseControl(h.Control)
	return op, got == uint8(v)
}

// segment reports whether a segment is of version v of DDP.
func (v version) segment(h *ddp.Header) bool { return h.Version == uint8(v) }
