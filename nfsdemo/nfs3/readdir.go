package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// ReadDirArgs are the arguments of READDIR (RFC 1813 section 3.3.16).
type ReadDirArgs struct {
	Dir    FH
	Cookie uint64   // the entry after which to begin; 0: at the start
	Verf   Verifier // from the results that have Cookie
	Count  uint32   // largest size of the results after the status
}

// MarshalXDR appends a.
func (a *ReadDirArgs) MarshalXDR(e *xdr.Encoder) {
	a.Dir.MarshalXDR(e)
	e.Uint64(a.Cookie)
	e.Fixed(a.Verf[:])
	e.Uint32(a.Count)
}

// UnmarshalXDR decodes a.
func (a *ReadDirArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.Dir.UnmarshalXDR(d)
	a.Cookie = d.Uint64()
	copy(a.Verf[:], d.Fixed(VerifierSize))
	a.Count = d.Uint32()
}

// ReadDirRes are the results of READDIR: those of READDIRPLUS without attributes and handles.
type ReadDirRes struct{ ReadDirPlusRes }

// MarshalXDR appends r.
func (r *ReadDirRes) MarshalXDR(e *xdr.Encoder) { r.encode(e, (*Entry).encodeName) }

// UnmarshalXDR decodes r. It reuses the memory of r.Entries.
func (r *ReadDirRes) UnmarshalXDR(d *xdr.Decoder) { r.decode(d, (*Entry).decodeName) }
