package nfs3

import (
	"context"
	"math"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ReadLinkArgs are the arguments of READLINK (RFC 1813 section 3.3.5).
type ReadLinkArgs struct{ File FH }

// MarshalXDR appends a.
func (a *ReadLinkArgs) MarshalXDR(e *xdr.Encoder) { a.File.MarshalXDR(e) }

// UnmarshalXDR decodes a.
func (a *ReadLinkArgs) UnmarshalXDR(d *xdr.Decoder) { a.File.UnmarshalXDR(d) }

// ReadLinkRes are the results of READLINK.
type ReadLinkRes struct {
	Result
	Attr PostOpAttr
	Path string // with OK: the path in the link; bulk data (RFC 8267)
}

// ReadLinkResMax returns the longest encoding in bytes of results with a path of up to n bytes.
func ReadLinkResMax(n int) int { return statusLen + postOpAttrLen + 4 + xdr.RoundUp(n) }

// MarshalXDR appends r.
func (r *ReadLinkRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	if r.Status == OK {
		e.BulkBytes([]byte(r.Path), nil)
	}
}

// UnmarshalXDR decodes r.
func (r *ReadLinkRes) UnmarshalXDR(d *xdr.Decoder) {
	*r = ReadLinkRes{}
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	if r.Status == OK {
		p, err := d.Bulk(math.MaxInt32).Bytes(context.Background())
		if err != nil {
			d.Fail(err)
		}
		r.Path = string(p)
	}
}
