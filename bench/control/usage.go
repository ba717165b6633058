package control

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// usage is a host.Usage as it travels.
type usage host.Usage

// MarshalXDR encodes u.
func (u *usage) MarshalXDR(e *xdr.Encoder) {
	e.Uint64(uint64(u.CPU))
	e.Uint64(u.Allocs)
	e.Uint64(u.Bytes)
	e.Uint32(u.GCs)
	e.Uint64(u.Heap)
	e.Uint64(u.Stacks)
	e.Uint32(uint32(u.Conns))
	e.Uint64(uint64(u.Busy))
}

// UnmarshalXDR decodes u.
func (u *usage) UnmarshalXDR(d *xdr.Decoder) {
	u.CPU = time.Duration(d.Uint64())
	u.Allocs = d.Uint64()
	u.Bytes = d.Uint64()
	u.GCs = d.Uint32()
	u.Heap = d.Uint64()
	u.Stacks = d.Uint64()
	u.Conns = int(d.Uint32())
	u.Busy = time.Duration(d.Uint64())
}
