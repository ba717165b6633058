package local

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
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
	if err := r.server.FS.Read(context.Background(), &vfs.Cred{}, r.file, 0, w.span, &pages); err != nil {
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

// bulk is a Throughput pair, NAME-SIZE-hot or NAME-SIZE-file.
func bulk(name string, size, span int) Pair {
	where := "hot"
	if span == FileSize {
		where = "file"
	}
	return Pair{
		Name: fmt.Sprintf("%s-%dKiB-%s", name, size>>10, where),
		both: paired.Scenario{Metric: paired.Throughput, Bytes: size},
	}
}

// Read is READ of size bytes out of the first span bytes of the file against a copy of as many, out
// of the same memory.
func Read(size, span int) Pair {
	p := bulk("read", size, span)
	p.yardstick = func(r *Rig) operation {
		w := walk{size: size, span: span}
		return func(n int) error { return r.copyOut(n, r.buf[:size], &w) }
	}
	p.candidate = func(r *Rig) operation {
		w := walk{size: size, span: span}
		return calls(&w, func(ctx context.Context, off uint64) (int, error) {
			got, err := r.client.Read(ctx, r.file, off, r.buf[:size])
			return got.N, err
		})
	}
	return p
}

// Write is WRITE of size bytes into the first span bytes of the file against a copy of as many,
// into memory of the same size: a page of a file that others read must not be written to.
func Write(size, span int) Pair {
	p := bulk("write", size, span)
	p.yardstick = func(r *Rig) operation {
		w := walk{size: size, span: span}
		return func(n int) error {
			for range n {
				copy(r.plain[w.next():], r.buf[:size])
			}
			return nil
		}
	}
	p.candidate = func(r *Rig) operation {
		w := walk{size: size, span: span}
		return calls(&w, func(ctx context.Context, off uint64) (int, error) {
			got, err := r.client.Write(ctx, r.file, off, r.buf[:size], nfs3.Unstable)
			return got.N, err
		})
	}
	return p
}

// calls makes calls, each of which transfers as many bytes as the walk's steps have.
func calls(w *walk, call func(ctx context.Context, off uint64) (int, error)) operation {
	return func(n int) error {
		ctx := context.Background()
		for range n {
			got, err := call(ctx, uint64(w.next()))
			if err == nil && got != w.size {
				err = fmt.Errorf("%d bytes of %d", got, w.size)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
