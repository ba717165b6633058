package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// LinkArgs are the arguments of LINK (RFC 1813 section 3.3.15).
type LinkArgs struct {
	File  FH
	Where DirOp // the new name
}

// MarshalXDR appends a.
func (a *LinkArgs) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	a.Where.MarshalXDR(e)
}

// UnmarshalXDR decodes a.
func (a *LinkArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.File.UnmarshalXDR(d)
	a.Where.UnmarshalXDR(d)
}

// LinkRes are the results of LINK.
type LinkRes struct {
	Result
	Attr PostOpAttr // of the file
	Dir  WccData
}

// LinkResMax is the longest encoding of LinkRes in bytes.
const LinkResMax = statusLen + postOpAttrLen + wccLen

// MarshalXDR appends r.
func (r *LinkRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	r.Dir.MarshalXDR(e)
}

// UnmarshalXDR decodes r.
func (r *LinkRes) UnmarshalXDR(d *xdr.Decoder) {
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	r.Dir.UnmarshalXDR(d)
}
