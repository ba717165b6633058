package stag

import "github.com/rpcrdma/go-rpcrdma/transport"

// Windows has the methods of a transport.Endpoint, and of a transport.Abandoner, that its Table
// carries out. An endpoint embeds it.
type Windows struct {
	Table *Table
	Owner *transport.Info // of the endpoint, for errors
}

// Expose opens one window.
func (w *Windows) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	r, err := w.Table.Expose(list, access)
	if err != nil {
		return dst, &transport.OpError{
			Op: "expose", Provider: w.Owner.Provider, Peer: w.Owner.RemoteAddr, Err: err,
		}
	}
	return append(dst, r), nil
}

// Revoke ends windows. It does not fail.
func (w *Windows) Revoke(regions ...transport.Region) error {
	w.Table.Revoke(regions...)
	return nil
}

// Abandon detaches a window from its memory. It does not fail.
func (w *Windows) Abandon(r transport.Region) error {
	w.Table.Abandon(r)
	return nil
}
