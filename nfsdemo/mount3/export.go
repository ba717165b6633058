package mount3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Export is an exportnode: a directory that may be mounted, and by which clients (RFC 1813 section
// 5.2.5).
type Export struct {
	Path   string
	Groups []string // names of hosts or networks, in any notation; none means everybody
}

// ExportRes are the results of EXPORT.
type ExportRes struct{ Exports []Export }

// MarshalXDR appends r.
func (r *ExportRes) MarshalXDR(e *xdr.Encoder) {
	for _, x := range r.Exports {
		e.Optional(true)
		e.String(x.Path, MaxPath)
		for _, g := range x.Groups {
			e.Optional(true)
			e.String(g, MaxName)
		}
		e.Optional(false)
	}
	e.Optional(false)
}

// UnmarshalXDR decodes r.
func (r *ExportRes) UnmarshalXDR(d *xdr.Decoder) {
	r.Exports = nil
	for d.Optional() {
		x := Export{Path: d.String(MaxPath)}
		for d.Optional() {
			g := d.String(MaxName)
			if d.Err() != nil {
				return
			}
			x.Groups = append(x.Groups, g)
		}
		if d.Err() != nil {
			return
		}
		r.Exports = append(r.Exports, x)
	}
}
