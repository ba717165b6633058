package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// FSInfo has the limits and properties of a server and a file system (RFC 1813 section 3.3.19).
// Sizes are in bytes.
type FSInfo struct {
	RtMax       uint32 // largest READ
	RtPref      uint32
	RtMult      uint32
	WtMax       uint32 // largest WRITE
	WtPref      uint32
	WtMult      uint32
	DtPref      uint32 // preferred READDIR
	MaxFileSize uint64
	TimeDelta   Time   // resolution of times
	Properties  uint32 // FSFLink and so on
}

// FSInfoArgs are the arguments of FSINFO.
type FSInfoArgs struct{ Root FH }

// MarshalXDR appends a.
func (a *FSInfoArgs) MarshalXDR(e *xdr.Encoder) { a.Root.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *FSInfoArgs) UnmarshalXDR(d *xdr.Decoder) { a.Root.UnmarshalXDR(d) }

// FSInfoRes are the results of FSINFO.
type FSInfoRes struct {
	Result
	Attr PostOpAttr
	FSInfo
}

// FSInfoResMax is the longest encoding of FSInfoRes in bytes.
const FSInfoResMax = statusLen + postOpAttrLen + 7*4 + 8 + timeLen + 4

// MarshalXDR appends r.
func (r *FSInfoRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	if r.Status == OK {
		e.Uint32(r.RtMax)
		e.Uint32(r.RtPref)
		e.Uint32(r.RtMult)
		e.Uint32(r.WtMax)
		e.Uint32(r.WtPref)
		e.Uint32(r.WtMult)
		e.Uint32(r.DtPref)
		e.Uint64(r.MaxFileSize)
		r.TimeDelta.MarshalXDR(e)
		e.Uint32(r.Properties)
	}
}

// UnmarshalXDR decodes r.
func (r *FSInfoRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = FSInfoRes{}
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	if r.Status == OK {
		r.RtMax = d.Uint32()
		r.RtPref = d.Uint32()
		r.RtMult = d.Uint32()
		r.WtMax = d.Uint32()
		r.WtPref = d.Uint32()
		r.WtMult = d.Uint32()
		r.DtPref = d.Uint32()
		r.MaxFileSize = d.Uint64()
		r.TimeDelta.UnmarshalXDR(d)
		r.Properties = d.Uint32()
	}
}
