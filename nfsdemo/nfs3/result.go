package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Result is the start of the results of every procedure but NULL: the discriminant of a union (RFC
// 1813 section 3).
type Result struct{ Status Status }

// StatusPtr returns the status, for code that handles the results of any procedure.
func (r *Result) StatusPtr() *Status { return &r.Status }

func (r *Result) marshal(e *xdr.Encoder)   { e.Uint32(uint32(r.Status)) }
func (r *Result) unmarshal(d *xdr.Decoder) { r.Status = Status(d.Uint32()) }

const statusLen = 4
