package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// GetAttrArgs are the arguments of GETATTR (RFC 1813 section 3.3.1).
type GetAttrArgs struct{ File FH }

// MarshalXDR appends a.
func (a *GetAttrArgs) MarshalXDR(e *xdr.Encoder) { a.File.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *GetAttrArgs) UnmarshalXDR(d *xdr.Decoder) { a.File.UnmarshalXDR(d) }

// GetAttrRes are the results of GETATTR.
type GetAttrRes struct {
	Result
	Attr Fattr // with OK
}

// GetAttrResMax is the longest encoding of GetAttrRes in bytes.
const GetAttrResMax = statusLen + fattrLen

// MarshalXDR appends r.
func (r *GetAttrRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	if r.Status == OK {
		r.Attr.MarshalXDR(e)
	}
}

// UnmarshalXDR decodes r.
func (r *GetAttrRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = GetAttrRes{}
	r.unmarshal(d)
	if r.Status == OK {
		r.Attr.UnmarshalXDR(d)
	}
}
