package nfs3

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// SymlinkArgs are the arguments of SYMLINK (RFC 1813 section 3.3.10). The results are
// CreateRes.
type SymlinkArgs struct {
	Where DirOp
	Set   Sattr
	Path  string   // to encode: the path in the link; bulk data (RFC 8267)
	Bulk  xdr.Bulk // decoded: the bytes of the path
}

// MarshalXDR appends a.
func (a *SymlinkArgs) MarshalXDR(e *xdr.Encoder) {
	a.Where.MarshalXDR(e)
	a.Set.MarshalXDR(e)
	e.BulkBytes([]byte(a.Path), nil)
}

// UnmarshalXDR decodes a. The path may not have arrived yet, and may be of any length.
func (a *SymlinkArgs) UnmarshalXDR(d *xdr.Decoder) {
	*a = SymlinkArgs{}
	a.Where.UnmarshalXDR(d)
	a.Set.UnmarshalXDR(d)
	a.Bulk = d.Bulk(math.MaxInt32)
}
