package local

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
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

// Read is READ of size bytes out of the first span bytes of the file against a copy of as many.
func (r *Rig) Read(size, span int) Pair {
	ctx := context.Background()
	to := r.buf[:size]
	yardstick, candidate := walk{size: size, span: span}, walk{size: size, span: span}
	return Pair{
		Name: name("read", size, span),
		Yardstick: func(n int) error {
			for range n {
				copy(to, r.plain[yardstick.next():])
			}
			return nil
		},
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

// Write is WRITE of size bytes into the first span bytes of the file against a copy of as many.
func (r *Rig) Write(size, span int) Pair {
	ctx := context.Background()
	from := r.buf[:size]
	yardstick, candidate := walk{size: size, span: span}, walk{size: size, span: span}
	return Pair{
		Name: name("write", size, span),
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

func name(op string, size, span int) string {
	set := "file"
	if span == size {
		set = "hot"
	}
	return fmt.Sprintf("%s-%dKiB-%s", op, size>>10, set)
}
