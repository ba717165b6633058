package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// RemoveArgs are the arguments of REMOVE and RMDIR (RFC 1813 sections 3.3.12 and 3.3.13).
type RemoveArgs struct{ What DirOp }

// MarshalXDR appends a.
func (a *RemoveArgs) MarshalXDR(e *xdr.Encoder) { a.What.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *RemoveArgs) UnmarshalXDR(d *xdr.Decoder) { a.What.UnmarshalXDR(d) }

// RemoveRes are the results of REMOVE and RMDIR.
type RemoveRes struct {
	Result
	Dir WccData
}

// RemoveResMax is the longest encoding of RemoveRes in bytes.
const RemoveResMax = statusLen + wccLen

// MarshalXDR appends r.
func (r *RemoveRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Dir.MarshalXDR(e)
}

// UnmarshalXDR decodes r.
func (r *RemoveRes) UnmarshalXDR(d *xdr.Decoder) {
	r.unmarshal(d)
	r.Dir.UnmarshalXDR(d)
}
