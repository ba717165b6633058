package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// CreateHow is createhow3 (RFC 1813 section 3.3.8).
type CreateHow struct {
	Mode CreateMode
	Set  Sattr    // with Unchecked and Guarded
	Verf Verifier // with Exclusive: identifies the call
}

// CreateArgs are the arguments of CREATE (RFC 1813 section 3.3.8).
type CreateArgs struct {
	Where DirOp
	How   CreateHow
}

// MarshalXDR appends a.
func (a *CreateArgs) MarshalXDR(e *xdr.Encoder) {
	a.Where.MarshalXDR(e)
	e.Uint32(uint32(a.How.Mode))
	if a.How.Mode == Exclusive {
		e.Fixed(a.How.Verf[:])
	} else {
		a.How.Set.MarshalXDR(e)
	}
}

// UnmarshalXDR decodes a.
func (a *CreateArgs) UnmarshalXDR(d *xdr.Decoder) {
	*a = CreateArgs{}
	a.Where.UnmarshalXDR(d)
	a.How.Mode = CreateMode(d.Enum(uint32(Exclusive)))
	if a.How.Mode == Exclusive {
		copy(a.How.Verf[:], d.Fixed(VerifierSize))
	} else {
		a.How.Set.UnmarshalXDR(d)
	}
}

// MkdirArgs are the arguments of MKDIR (RFC 1813 section 3.3.9).
type MkdirArgs struct {
	Where DirOp
	Set   Sattr
}

// MarshalXDR appends a.
func (a *MkdirArgs) MarshalXDR(e *xdr.Encoder) {
	a.Where.MarshalXDR(e)
	a.Set.MarshalXDR(e)
}

// UnmarshalXDR decodes a.
func (a *MkdirArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.Where.UnmarshalXDR(d)
	a.Set.UnmarshalXDR(d)
}

// CreateRes are the results of CREATE and MKDIR.
type CreateRes struct {
	Result
	File PostOpFH   // with OK
	Attr PostOpAttr // with OK
	Dir  WccData
}

// CreateResMax is the longest encoding of CreateRes in bytes.
const CreateResMax = statusLen + postOpFHLen + postOpAttrLen + wccLen

// MarshalXDR appends r.
func (r *CreateRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	if r.Status == OK {
		r.File.MarshalXDR(e)
		r.Attr.MarshalXDR(e)
	}
	r.Dir.MarshalXDR(e)
}

// UnmarshalXDR decodes r.
func (r *CreateRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = CreateRes{}
	r.unmarshal(d)
	if r.Status == OK {
		r.File.UnmarshalXDR(d)
		r.Attr.UnmarshalXDR(d)
	}
	r.Dir.UnmarshalXDR(d)
}
