package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// SetAttrArgs are the arguments of SETATTR (RFC 1813 section 3.3.2).
type SetAttrArgs struct {
	File FH
	Set  Sattr
	// With Guard the call fails with ErrNotSync unless the file's ctime is Ctime.
	Guard bool
	Ctime Time
}

// MarshalXDR appends a.
func (a *SetAttrArgs) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	a.Set.MarshalXDR(e)
	e.Bool(a.Guard)
	if a.Guard {
		a.Ctime.MarshalXDR(e)
	}
}

// UnmarshalXDR decodes a.
func (a *SetAttrArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.File.UnmarshalXDR(d)
	a.Set.UnmarshalXDR(d)
	a.Ctime = Time{}
	if a.Guard = d.Bool(); a.Guard {
		a.Ctime.UnmarshalXDR(d)
	}
}

// SetAttrRes are the results of SETATTR.
type SetAttrRes struct {
	Result
	Wcc WccData
}

// SetAttrResMax is the longest encoding of SetAttrRes in bytes.
const SetAttrResMax = statusLen + wccLen

// MarshalXDR appends r.
func (r *SetAttrRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Wcc.MarshalXDR(e)
}

// UnmarshalXDR decodes r.
func (r *SetAttrRes) UnmarshalXDR(d *xdr.Decoder) {
	r.unmarshal(d)
	r.Wcc.UnmarshalXDR(d)
}
