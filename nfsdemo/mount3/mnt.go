package mount3

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// MntArgs are the arguments of MNT and of UMNT (RFC 1813 sections 5.2.1 and 5.2.3).
type MntArgs struct{ Path string }

// MarshalXDR appends a.
func (a *MntArgs) MarshalXDR(e *xdr.Encoder) { e.String(a.Path, MaxPath) }

// UnmarshalXDR decodes a.
func (a *MntArgs) UnmarshalXDR(d *xdr.Decoder) { a.Path = d.String(MaxPath) }

// MntRes are the results of MNT.
type MntRes struct {
	Status  Status
	Root    nfs3.FH  // with OK
	Flavors []Flavor // with OK: that calls of NFS may use, the preferred first
}

// MntResMax is the longest encoding of MntRes in bytes.
const MntResMax = 4 + 4 + FHSize + 4 + 4*MaxFlavors

// MarshalXDR appends r.
func (r *MntRes) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(uint32(r.Status))
	if r.Status != OK {
		return
	}
	r.Root.MarshalXDR(e)
	if len(r.Flavors) > MaxFlavors {
		e.Fail(xdr.ErrLimit)
		return
	}
	e.Uint32(uint32(len(r.Flavors)))
	for _, f := range r.Flavors {
		e.Uint32(uint32(f))
	}
}

// UnmarshalXDR decodes r.
func (r *MntRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = MntRes{Status: Status(d.Uint32())}
	if r.Status != OK {
		return
	}
	r.Root.UnmarshalXDR(d)
	if n := d.Count(MaxFlavors, 4); n > 0 {
		r.Flavors = make([]Flavor, n)
	}
	for i := range r.Flavors {
		r.Flavors[i] = Flavor(d.Uint32())
	}
}
