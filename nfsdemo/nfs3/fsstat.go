package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// FSStat is the total and free space of a file system (RFC 1813 section 3.3.18).
type FSStat struct {
	TotalBytes uint64
	FreeBytes  uint64
	AvailBytes uint64 // free to this user
	TotalFiles uint64
	FreeFiles  uint64
	AvailFiles uint64 // free to this user
	Invarsec   uint32 // seconds for which these values are expected to be valid
}

// FSStatArgs are the arguments of FSSTAT.
type FSStatArgs struct{ Root FH }

// MarshalXDR appends a.
func (a *FSStatArgs) MarshalXDR(e *xdr.Encoder) { a.Root.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *FSStatArgs) UnmarshalXDR(d *xdr.Decoder) { a.Root.UnmarshalXDR(d) }

// FSStatRes are the results of FSSTAT.
type FSStatRes struct {
	Result
	Attr PostOpAttr
	FSStat
}

// FSStatResMax is the longest encoding of FSStatRes in bytes.
const FSStatResMax = statusLen + postOpAttrLen + 6*8 + 4

// MarshalXDR appends r.
func (r *FSStatRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	if r.Status == OK {
		e.Uint64(r.TotalBytes)
		e.Uint64(r.FreeBytes)
		e.Uint64(r.AvailBytes)
		e.Uint64(r.TotalFiles)
		e.Uint64(r.FreeFiles)
		e.Uint64(r.AvailFiles)
		e.Uint32(r.Invarsec)
	}
}

// UnmarshalXDR decodes r.
func (r *FSStatRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = FSStatRes{}
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	if r.Status == OK {
		r.TotalBytes = d.Uint64()
		r.FreeBytes = d.Uint64()
		r.AvailBytes = d.Uint64()
		r.TotalFiles = d.Uint64()
		r.FreeFiles = d.Uint64()
		r.AvailFiles = d.Uint64()
		r.Invarsec = d.Uint32()
	}
}
