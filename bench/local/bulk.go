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

// copyOut copies size bytes n times out of the file's own pages.
func (r *Rig) copyOut(n int, to []byte, w *walk) error {
	var pages vfs.ReadResult
	if err := r.server.FS.Read(context.Background(), &vfs.Cred{}, r.file, 0, w.span, &pages); err != nil {
		return err
	}
	defer pages.Release.Release()
	page := len(pages.Data[0]) // all but the last have this length
	for range n {
		for off, rest := w.next(), to; len(rest) > 0; {
			m := copy(rest, pages.Data[off/page][off%page:])
			off, rest = off+m, rest[m:]
		}
	}
	return nil
}

// bulk returns a Throughput pair NAME-SIZE-hot or NAME-SIZE-file.
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

// Read compares READ of size bytes from the first span bytes of the file with a copy of as many
// bytes from the same memory.
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

// Write compares WRITE of size bytes to the first span bytes of the file with a copy of as many
// bytes to memory of the same size. The yardstick does not copy to the file's pages, because
// readers may hold them.
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

// calls makes calls that each transfer one step of the walk.
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
