package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// RenameArgs are the arguments of RENAME (RFC 1813 section 3.3.14).
type RenameArgs struct{ From, To DirOp }

// MarshalXDR appends a.
func (a *RenameArgs) MarshalXDR(e *xdr.Encoder) {
	a.From.MarshalXDR(e)
	a.To.MarshalXDR(e)
}

// UnmarshalXDR decodes a.
func (a *RenameArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.From.UnmarshalXDR(d)
	a.To.UnmarshalXDR(d)
}

// RenameRes are the results of RENAME: the WccData of both directories.
type RenameRes struct {
	Result
	From, To WccData
}

// RenameResMax is the longest encoding of RenameRes in bytes.
const RenameResMax = statusLen + 2*wccLen

// MarshalXDR appends r.
func (r *RenameRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.From.MarshalXDR(e)
	r.To.MarshalXDR(e)
}

// UnmarshalXDR decodes r.
func (r *RenameRes) UnmarshalXDR(d *xdr.Decoder) {
	r.unmarshal(d)
	r.From.UnmarshalXDR(d)
	r.To.UnmarshalXDR(d)
}
