package wire

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, (n+7)&^7)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	return p[:n:n]
}

func header(xid uint32, typ Type) *Header {
	return &Header{XID: xid, Version: ProtocolVersion, Credits: 32, Type: typ}
}

// padded lays out an RDMA_MSGP, written independently of package xdr: data of least bytes or more
// is moved, with fill in front of it.
func padded(h *Header, m *xdr.Message, without []bool, least int, fill byte) []byte {
	b := h.Append(nil)
	inline, pos := m.Inline, 0
	for i, it := range m.Bulk {
		b = append(b, inline[:it.Position-pos]...)
		inline = inline[it.Position-pos:]
		pos = it.Position + (it.Len+3)/4*4
		if i < len(without) && without[i] {
			continue
		}
		if it.Len >= least {
			for h.Align > 0 && len(b)%int(h.Align) != 0 {
				b = append(b, fill)
			}
		}
		for _, p := range it.Data {
			b = append(b, p...)
		}
		b = append(b, make([]byte, (4-it.Len%4)%4)...)
	}
	return append(b, inline...)
}
