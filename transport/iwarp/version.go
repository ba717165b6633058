package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// version is the version of DDP and RDMAP on a connection: 1, or 0 with RNICs of the RDMA
// Consortium, if the setup agreed on that (mpa/rnicv0.go). Nothing else here knows of version 0,
// which is assumed to differ in its number only. It was never tested against hardware: no such RNIC
// was at hand. It was tested between two ends of this package, and with scripted peers.
type version uint8

// stamp enters the version and the kind of message into h.
func (v version) stamp(h *ddp.Header, op rdmap.Opcode) {
	h.Version, h.Control = uint8(v), rdmap.Control(uint8(v), op)
}

// operation returns the kind of message of a segment. It reports whether the RDMAP version is v.
func (v version) operation(h *ddp.Header) (rdmap.Opcode, bool) {
	got, op := rdmap.ParseControl(h.Control)
	return op, got == uint8(v)
}

// segment reports whether the DDP version of a segment is v.
func (v version) segment(h *ddp.Header) bool { return h.Version == uint8(v) }
