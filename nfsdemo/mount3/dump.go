package mount3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Mount is an entry of mountlist: a mount that the server remembers (RFC 1813 section 5.2.2).
type Mount struct {
	Host string
	Path string
}

// DumpRes are the results of DUMP.
type DumpRes struct{ Mounts []Mount }

// MarshalXDR appends r.
func (r *DumpRes) MarshalXDR(e *xdr.Encoder) {
	for _, m := range r.Mounts {
		e.Optional(true)
		e.String(m.Host, MaxName)
		e.String(m.Path, MaxPath)
	}
	e.Optional(false)
}

// UnmarshalXDR decodes r.
func (r *DumpRes) UnmarshalXDR(d *xdr.Decoder) {
	r.Mounts = nil
	for d.Optional() {
		m := Mount{Host: d.String(MaxName), Path: d.String(MaxPath)}
		if d.Err() != nil {
			return
		}
		r.Mounts = append(r.Mounts, m)
	}
}
