package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// CommitArgs are the arguments of COMMIT (RFC 1813 section 3.3.21).
type CommitArgs struct {
	File   FH
	Offset uint64
	Count  uint32 // 0: to the end of the file
}

// MarshalXDR appends a.
func (a *CommitArgs) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	e.Uint64(a.Offset)
	e.Uint32(a.Count)
}

// UnmarshalXDR decodes a.
func (a *CommitArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.File.UnmarshalXDR(d)
	a.Offset = d.Uint64()
	a.Count = d.Uint32()
}

// CommitRes are the results of COMMIT.
type CommitRes struct {
	Result
	Wcc  WccData
	Verf Verifier // with OK: if it differs from WRITE's, data may be lost
}

// CommitResMax is the longest encoding of CommitRes in bytes.
const CommitResMax = statusLen + wccLen + VerifierSize

// MarshalXDR appends r.
func (r *CommitRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Wcc.MarshalXDR(e)
	if r.Status == OK {
		e.Fixed(r.Verf[:])
	}
}

// UnmarshalXDR decodes r.
func (r *CommitRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = CommitRes{}
	r.unmarshal(d)
	r.Wcc.UnmarshalXDR(d)
	if r.Status == OK {
		copy(r.Verf[:], d.Fixed(VerifierSize))
	}
}
