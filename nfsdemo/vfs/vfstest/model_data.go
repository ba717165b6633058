package vfstest

import (
	"bytes"
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testModelData compares random operations with what they do to a slice.
func testModelData(f *fixture) {
	seed := rand.Uint64()
	f.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const limit = 5 * 65536
	for i := range 8 {
		h := f.file(string(rune('a' + i)))
		var model []byte
		for range 200 {
			off := r.IntN(limit)
			if r.IntN(3) == 0 {
				off = len(model)
			}
			n := r.IntN(1 << r.IntN(18))
			switch r.IntN(4) {
			case 0: // read
				got, eof := f.read(h, uint64(off), n)
				want := model[min(off, len(model)):min(off+n, len(model))]
				if !bytes.Equal(got, want) {
					f.Fatalf("read of %d at %d of %d: something else", n, off, len(model))
				}
				if eof != (off+n >= len(model)) {
					f.Fatalf("read of %d at %d of %d: EOF %v", n, off, len(model), eof)
				}
			case 1: // truncate
				size := r.IntN(limit)
				f.set(h, setSize(uint64(size)))
				model = resize(model, size)
			default: // write
				p := make([]byte, n)
				for i := range p {
					p[i] = byte(r.Uint32())
				}
				data := Bulk(p)
				if r.IntN(2) == 0 {
					data = LazyBulk(p, func() error { return nil })
				}
				_, err := f.fs.Write(f.ctx, root, h, uint64(off), data, nfs3.Unstable)
				f.ok(err)
				if n > 0 {
					model = resize(model, max(len(model), off+n))
					copy(model[off:], p)
				}
			}
			if a := f.attr(h); a.Size != uint64(len(model)) {
				f.Fatalf("size %d, want %d", a.Size, len(model))
			}
		}
		if got, _ := f.read(h, 0, limit*2); !bytes.Equal(got, model) {
			f.Fatal("the file is something else in the end")
		}
		f.set(h, setSize(0))
	}
}

func resize(p []byte, n int) []byte {
	if n <= len(p) {
		return p[:n:n]
	}
	return append(p, make([]byte, n-len(p))...)
}
