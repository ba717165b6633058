package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// PathConf has the values of POSIX pathconf (RFC 1813 section 3.3.20).
type PathConf struct {
	LinkMax         uint32 // most hard links to a file
	NameMax         uint32 // longest name in bytes
	NoTrunc         bool   // longer names are refused, not cut off
	ChownRestricted bool   // only the superuser gives files away
	CaseInsensitive bool
	CasePreserving  bool
}

// PathConfArgs are the arguments of PATHCONF.
type PathConfArgs struct{ File FH }

// MarshalXDR appends a.
func (a *PathConfArgs) MarshalXDR(e *xdr.Encoder) { a.File.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *PathConfArgs) UnmarshalXDR(d *xdr.Decoder) { a.File.UnmarshalXDR(d) }

// PathConfRes are the results of PATHCONF.
type PathConfRes struct {
	Result
	Attr PostOpAttr
	PathConf
}

// PathConfResMax is the longest encoding of PathConfRes in bytes.
const PathConfResMax = statusLen + postOpAttrLen + 2*4 + 4*4

// MarshalXDR appends r.
func (r *PathConfRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	if r.Status == OK {
		e.Uint32(r.LinkMax)
		e.Uint32(r.NameMax)
		e.Bool(r.NoTrunc)
		e.Bool(r.ChownRestricted)
		e.Bool(r.CaseInsensitive)
		e.Bool(r.CasePreserving)
	}
}

// UnmarshalXDR decodes r.
func (r *PathConfRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = PathConfRes{}
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	if r.Status == OK {
		r.LinkMax = d.Uint32()
		r.NameMax = d.Uint32()
		r.NoTrunc = d.Bool()
		r.ChownRestricted = d.Bool()
		r.CaseInsensitive = d.Bool()
		r.CasePreserving = d.Bool()
	}
}
