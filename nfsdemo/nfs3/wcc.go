package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// PreOpAttr is pre_op_attr: the attributes before an operation that tell a client whether others
// have changed the file (RFC 1813 section 2.6, wcc_attr).
type PreOpAttr struct {
	Present bool
	Size    uint64
	Mtime   Time
	Ctime   Time
}

// WccData is wcc_data: attributes before and after an operation, for weak cache consistency (RFC
// 1813 section 2.6). They are only useful if they were taken in one step with the change.
type WccData struct {
	Before PreOpAttr
	After  PostOpAttr
}

const wccLen = 4 + 8 + 2*timeLen + postOpAttrLen

// Pre returns the PreOpAttr of a.
func (a *Fattr) Pre() PreOpAttr { return PreOpAttr{true, a.Size, a.Mtime, a.Ctime} }

// MarshalXDR appends w.
func (w *WccData) MarshalXDR(e *xdr.Encoder) {
	e.Bool(w.Before.Present)
	if w.Before.Present {
		e.Uint64(w.Before.Size)
		w.Before.Mtime.MarshalXDR(e)
		w.Before.Ctime.MarshalXDR(e)
	}
	w.After.MarshalXDR(e)
}

// UnmarshalXDR decodes w.
func (w *WccData) UnmarshalXDR(d *xdr.Decoder) {
	w.Before = PreOpAttr{Present: d.Bool()}
	if w.Before.Present {
		w.Before.Size = d.Uint64()
		w.Before.Mtime.UnmarshalXDR(d)
		w.Before.Ctime.UnmarshalXDR(d)
	}
	w.After.UnmarshalXDR(d)
}
