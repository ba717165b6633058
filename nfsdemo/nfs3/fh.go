package nfs3

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FH is a file handle, nfs_fh3, opaque to the client (RFC 1813 section 2.6). It is comparable, and
// can be the key of a map.
type FH struct {
	n uint8
	b [FHSize]byte // zero beyond n
}

// MakeFH returns the handle with the first FHSize bytes of p.
func MakeFH(p []byte) FH {
	var h FH
	h.n = uint8(copy(h.b[:], p))
	return h
}

// Len returns the length in bytes.
func (h *FH) Len() int { return int(h.n) }

// Bytes returns the bytes of h, not a copy.
func (h *FH) Bytes() []byte { return h.b[:h.n:h.n] }

// String returns the bytes in hexadecimal.
func (h FH) String() string { return fmt.Sprintf("%x", h.b[:h.n]) }

// fhLen is the longest encoding.
const fhLen = 4 + FHSize

// MarshalXDR appends h.
func (h *FH) MarshalXDR(e *xdr.Encoder) { e.Opaque(h.Bytes(), FHSize) }

// UnmarshalXDR decodes h.
func (h *FH) UnmarshalXDR(d *xdr.Decoder) { *h = MakeFH(d.Opaque(FHSize)) }

// PostOpFH is post_op_fh3: a handle that may be missing (RFC 1813 section 2.6).
type PostOpFH struct {
	Present bool
	FH      FH
}

const postOpFHLen = 4 + fhLen

// MarshalXDR appends p.
func (p *PostOpFH) MarshalXDR(e *xdr.Encoder) {
	e.Bool(p.Present)
	if p.Present {
		p.FH.MarshalXDR(e)
	}
}

// UnmarshalXDR decodes p.
func (p *PostOpFH) UnmarshalXDR(d *xdr.Decoder) {
	if p.Present = d.Bool(); p.Present {
		p.FH.UnmarshalXDR(d)
	} else {
		p.FH = FH{}
	}
}

// DirOp is diropargs3: a name in a directory (RFC 1813 section 2.6).
type DirOp struct {
	Dir  FH
	Name string
}

// MarshalXDR appends a.
func (a *DirOp) MarshalXDR(e *xdr.Encoder) {
	a.Dir.MarshalXDR(e)
	e.String(a.Name, maxName)
}

// UnmarshalXDR decodes a.
func (a *DirOp) UnmarshalXDR(d *xdr.Decoder) {
	a.Dir.UnmarshalXDR(d)
	a.Name = d.String(maxName)
}
