package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// AccessArgs are the arguments of ACCESS (RFC 1813 section 3.3.4).
type AccessArgs struct {
	File FH
	Want Access
}

// MarshalXDR appends a.
func (a *AccessArgs) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	e.Uint32(uint32(a.Want))
}

// UnmarshalXDR decodes a.
func (a *AccessArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.File.UnmarshalXDR(d)
	a.Want = Access(d.Uint32())
}

// AccessRes are the results of ACCESS.
type AccessRes struct {
	Result
	Attr    PostOpAttr
	Granted Access // with OK: the granted ones of those asked for
}

// AccessResMax is the longest encoding of AccessRes in bytes.
const AccessResMax = statusLen + postOpAttrLen + 4

// MarshalXDR appends r.
func (r *AccessRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	if r.Status == OK {
		e.Uint32(uint32(r.Granted))
	}
}

// UnmarshalXDR decodes r.
func (r *AccessRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = AccessRes{}
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	if r.Status == OK {
		r.Granted = Access(d.Uint32())
	}
}
