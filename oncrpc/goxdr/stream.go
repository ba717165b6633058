package goxdr

import (
	"io"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// reader reads the arguments or results of a call for generated code.
type reader struct {
	left  []byte
	short bool // a Read found nothing left
	depth depth
}

func (r *reader) Read(p []byte) (int, error) {
	if len(r.left) == 0 && len(p) > 0 {
		r.short = true
		return 0, io.EOF
	}
	if err := r.depth.check(); err != nil {
		return 0, err
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (*reader) Close() error { return nil }

// writer appends to a stream what generated code writes, which is already XDR.
type writer struct {
	e     *xdr.Encoder
	depth depth
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.depth.check(); err != nil {
		return 0, err
	}
	w.e.Raw(p)
	return len(p), nil
}
