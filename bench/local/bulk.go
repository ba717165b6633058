package local

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// walk goes through span bytes in steps of size, again and again.
type walk struct{ at, size, span int }

func (w *walk) next() (off int) {
	off = w.at
	if w.at += w.size; w.at+w.size > w.span {
		w.at = 0
	}
	return off
}

// copyOut has n copies of size bytes made of the file's own pages.
func (r *Rig) copyOut(n int, to []byte, w *walk) error {
	var pages vfs.ReadResult
	if err := r.fs.Read(context.Background(), &vfs.Cred{}, r.file, 0, w.span, &pages); err != nil {
		return err
	}
	defer pages.Release.Release()
	page := len(pages.Data[0]) // all but the last are as long
	for range n {
		for off, rest := w.next(), to; len(rest) > 0; {
			m := copy(rest, pages.Data[off/page][off%page:])
			off, rest = off+m, rest[m:]
		}
	}
	return nil
}

// Read is READ of size bytes out of the first span bytes of the file against a copy of as many, out of the same memory.
func (r *Rig) Read(size, span int) Pair {
	ctx := context.Background()
	to := r.buf[:size]
	yardstick, candidate := walk{size: size, span: span}, walk{size: size, span: span}
	return Pair{
		Yardstick: func(n int) error { return r.copyOut(n, to, &yardstick) },
		Candidate: func(n int) error {
			for range n {
				got, err := r.client.Read(ctx, r.file, uint64(candidate.next()), to)
				if err == nil && got.N != size {
					err = fmt.Errorf("%d bytes read of %d", got.N, size)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Write is WRITE of size bytes into the first span bytes of the file against a copy of as many, into memory of the same
// size: a page of a file that others read must not be written to.
func (r *Rig) Write(size, span int) Pair {
	ctx := context.Background()
	from := r.buf[:size]
	yardstick, candidate := walk{size: size, span: span}, walk{size: size, span: span}
	return Pair{
		Yardstick: func(n int) error {
			for range n {
				copy(r.plain[yardstick.next():], from)
			}
			return nil
		},
		Candidate: func(n int) error {
			for range n {
				got, err := r.client.Write(ctx, r.file, uint64(candidate.next()), from, nfs3.Unstable)
				if err == nil && got.N != size {
					err = fmt.Errorf("%d bytes written of %d", got.N, size)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}
