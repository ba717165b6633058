package nfs3

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// WriteArgs are the arguments of WRITE (RFC 1813 section 3.3.7).
type WriteArgs struct {
	File   FH
	Offset uint64
	Count  uint32 // bytes of data
	Stable StableHow

	// MarshalXDR encodes Data by reference.
	Data [][]byte
	// UnmarshalXDR sets Bulk to the data, which may not have arrived yet.
	Bulk xdr.Bulk
}

// MarshalXDR appends a.
func (a *WriteArgs) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	e.Uint64(a.Offset)
	e.Uint32(a.Count)
	e.Uint32(uint32(a.Stable))
	e.Bulk(a.Data, nil)
}

// UnmarshalXDR decodes a.
func (a *WriteArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.File.UnmarshalXDR(d)
	a.Offset = d.Uint64()
	a.Count = d.Uint32()
	a.Stable = StableHow(d.Enum(uint32(FileSync)))
	a.Bulk = d.Bulk(math.MaxInt32)
	// The RFC says that both are the same number. Linux also refuses others.
	if uint64(a.Count) != uint64(a.Bulk.Len()) {
		d.Fail(xdr.ErrValue)
	}
}

// WriteRes are the results of WRITE.
type WriteRes struct {
	Result
	Wcc       WccData
	Count     uint32    // with OK: bytes written
	Committed StableHow // with OK
	Verf      Verifier  // with OK: changes when uncommitted data may be lost
}

// WriteResMax is the longest encoding of WriteRes in bytes.
const WriteResMax = statusLen + wccLen + 4 + 4 + VerifierSize

// MarshalXDR appends r.
func (r *WriteRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Wcc.MarshalXDR(e)
	if r.Status == OK {
		e.Uint32(r.Count)
		e.Uint32(uint32(r.Committed))
		e.Fixed(r.Verf[:])
	}
}

// UnmarshalXDR decodes r.
func (r *WriteRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = WriteRes{}
	r.unmarshal(d)
	r.Wcc.UnmarshalXDR(d)
	if r.Status == OK {
		r.Count = d.Uint32()
		r.Committed = StableHow(d.Enum(uint32(FileSync)))
		copy(r.Verf[:], d.Fixed(VerifierSize))
	}
}
