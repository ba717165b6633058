package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// LookupArgs are the arguments of LOOKUP (RFC 1813 section 3.3.3).
type LookupArgs struct{ What DirOp }

// MarshalXDR appends a.
func (a *LookupArgs) MarshalXDR(e *xdr.Encoder) { a.What.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *LookupArgs) UnmarshalXDR(d *xdr.Decoder) { a.What.UnmarshalXDR(d) }

// LookupRes are the results of LOOKUP.
type LookupRes struct {
	Result
	File FH         // with OK
	Attr PostOpAttr // with OK
	Dir  PostOpAttr
}

// LookupResMax is the longest encoding of LookupRes in bytes.
const LookupResMax = statusLen + fhLen + 2*postOpAttrLen

// MarshalXDR appends r.
func (r *LookupRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	if r.Status == OK {
		r.File.MarshalXDR(e)
		r.Attr.MarshalXDR(e)
	}
	r.Dir.MarshalXDR(e)
}

// UnmarshalXDR decodes r.
func (r *LookupRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = LookupRes{}
	r.unmarshal(d)
	if r.Status == OK {
		r.File.UnmarshalXDR(d)
		r.Attr.UnmarshalXDR(d)
	}
	r.Dir.UnmarshalXDR(d)
}
