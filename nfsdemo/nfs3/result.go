package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Result is how the results of every procedure but NULL begin: they are unions over
// the status (RFC 1813 section 3).
type Result struct{ Status Status }

// StatusPtr gives code that knows no particular procedure access to the status.
func (r *Result) StatusPtr() *Status { return &r.Status }

func (r *Result) marshal(e *xdr.Encoder)   { e.Uint32(uint32(r.Status)) }
func (r *Result) unmarshal(d *xdr.Decoder) { r.Status = Status(d.Uint32()) }

const statusLen = 4
