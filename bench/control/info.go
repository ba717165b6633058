package control

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Info says where a server listens and what it is like. All ports are at the address of this
// connection.
type Info struct {
	ChunkedPort uint16 // RDMA, with default inline sizes
	InlinePort  uint16 // RDMA, with the largest inline sizes
	// RDMA in the draft's dialect, with the largest inline sizes and aligned receives
	DraftPort uint16
	RawPort   uint16 // TCP without RPC (package raw)

	System     string // operating system, architecture, Go version
	CPUs       uint32 // that the process may use at a time
	Congestion string // TCP congestion control of its sockets; empty means the system's
	Memory     uint64 // most bytes of calls under way
}

// maxText limits a string, in bytes.
const maxText = 256

// MarshalXDR encodes i.
func (i *Info) MarshalXDR(e *xdr.Encoder) {
	for _, port := range []uint16{i.ChunkedPort, i.InlinePort, i.DraftPort, i.RawPort} {
		e.Uint32(uint32(port))
	}
	e.String(i.System, maxText)
	e.Uint32(i.CPUs)
	e.String(i.Congestion, maxText)
	e.Uint64(i.Memory)
}

// UnmarshalXDR decodes i.
func (i *Info) UnmarshalXDR(d *xdr.Decoder) {
	for _, port := range []*uint16{&i.ChunkedPort, &i.InlinePort, &i.DraftPort, &i.RawPort} {
		n := d.Uint32()
		if n > 1<<16-1 {
			d.Fail(xdr.ErrValue)
		}
		*port = uint16(n)
	}
	i.System = d.String(maxText)
	i.CPUs = d.Uint32()
	i.Congestion = d.String(maxText)
	i.Memory = d.Uint64()
}
