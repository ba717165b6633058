package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// ReadArgs are the arguments of READ (RFC 1813 section 3.3.6).
type ReadArgs struct {
	File   FH
	Offset uint64
	Count  uint32
}

// MarshalXDR appends a.
func (a *ReadArgs) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	e.Uint64(a.Offset)
	e.Uint32(a.Count)
}

// UnmarshalXDR decodes a.
func (a *ReadArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.File.UnmarshalXDR(d)
	a.Offset = d.Uint64()
	a.Count = d.Uint32()
}

// ReadRes are the results of READ.
type ReadRes struct {
	Result
	Attr  PostOpAttr
	Count uint32 // with OK: bytes of data
	EOF   bool   // with OK: the data reaches the end of the file

	// MarshalXDR encodes Data by reference, and calls Release when it is no longer used. Release
	// may be nil.
	Data    [][]byte
	Release xdr.Releaser
	// UnmarshalXDR puts the data into Into. More data than that holds is an error.
	Into []byte
}

// ReadResMax is the longest encoding of ReadRes without the data, in bytes.
const ReadResMax = statusLen + postOpAttrLen + 4 + 4 + 4

// ReplyRoom returns Into and the room for the rest of the results. It implements oncrpc.SizedReply.
func (r *ReadRes) ReplyRoom(results [][]byte) (maxReply int, _ [][]byte) {
	if len(r.Into) > 0 {
		results = append(results, r.Into)
	}
	return ReadResMax, results
}

// MarshalXDR appends r.
func (r *ReadRes) MarshalXDR(e *xdr.Encoder) {
	r.marshal(e)
	r.Attr.MarshalXDR(e)
	if r.Status == OK {
		e.Uint32(r.Count)
		e.Bool(r.EOF)
		e.Bulk(r.Data, r.Release)
	}
}

// UnmarshalXDR decodes r.
func (r *ReadRes) UnmarshalXDR(d *xdr.Decoder) {
	r.Count, r.EOF = 0, false
	r.unmarshal(d)
	r.Attr.UnmarshalXDR(d)
	if r.Status != OK {
		return
	}
	count := d.Uint32()
	r.EOF = d.Bool()
	if n := len(d.BulkInto(r.Into)); uint64(count) != uint64(n) {
		d.Fail(xdr.ErrValue)
	}
	if d.Err() == nil {
		r.Count = count
	}
}
