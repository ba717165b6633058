package vfstest

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func testReadWrite(f *fixture) {
	h := f.file("file")
	for _, n := range []int{1, 511, 512, 4095, 4096, 65535, 65536, 65537, 1 << 20, 1<<20 + 3} {
		p := pattern(n)
		f.write(h, 0, p)
		got, eof := f.read(h, 0, n)
		if !bytes.Equal(got, p) {
			f.Fatalf("%d bytes: read something else", n)
		}
		if a := f.attr(h); a.Size != uint64(n) || !eof {
			f.Fatalf("%d bytes: size %d, EOF %v", n, a.Size, eof)
		}
	}
	if _, err := f.fs.Commit(f.ctx, root, h, 0, 0); err != nil {
		f.Error(err)
	}
}

// pattern returns n bytes none of which is like its neighbours.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8*13 + 1)
	}
	return p
}

func testReadEdges(f *fixture) {
	h := f.file("file")
	f.write(h, 0, []byte("0123456789"))
	for _, tt := range []struct {
		off  uint64
		n    int
		want string
		eof  bool
	}{
		{0, 10, "0123456789", true},
		{0, 9, "012345678", false},
		{0, 100, "0123456789", true},
		{9, 1, "9", true},
		{5, 0, "", false},
		{10, 0, "", true},
		{10, 1, "", true},
		{11, 1, "", true},
		{math.MaxInt64, 0, "", true},
		{math.MaxUint64, 0, "", true},
	} {
		got, eof := f.read(h, tt.off, tt.n)
		if string(got) != tt.want || eof != tt.eof {
			f.Errorf("%d at %d: %q, EOF %v; want %q, %v", tt.n, tt.off, got, eof, tt.want, tt.eof)
		}
	}
}

func testSparse(f *fixture) {
	h := f.file("file")
	const far = 3<<30 + 12345
	f.write(h, far, []byte("far"))
	f.write(h, 100000, []byte("near"))
	if a := f.attr(h); a.Size != far+3 || a.Used > 1<<20 {
		f.Errorf("size %d, %d bytes in use", a.Size, a.Used)
	}
	for off, want := range map[uint64][]byte{
		0:          make([]byte, 1<<20)[:99999],
		99998:      []byte("\x00\x00near\x00\x00"),
		1 << 30:    make([]byte, 1<<20),
		far - 2:    []byte("\x00\x00far"),
		far - 1000: append(make([]byte, 1000), "far"...),
	} {
		if got, _ := f.read(h, off, len(want)); !bytes.Equal(got, want) {
			f.Errorf("at %d: read something else", off)
		}
	}
}

func testWriteLimits(f *fixture) {
	h := f.file("file")
	limit := f.fs.Info().MaxFileSize
	_, err := f.fs.Write(f.ctx, root, h, limit, Bulk([]byte("x")), nfs3.Unstable)
	f.want("write behind the limit", err, nfs3.ErrFBig)
	if limit < math.MaxInt64 {
		return
	}
	set := setSize(limit + 1)
	_, err = f.fs.SetAttr(f.ctx, root, h, &set, nil)
	f.want("size over the limit", err, nfs3.ErrFBig)

	before := f.attr(h)
	w, err := f.fs.Write(f.ctx, root, h, 5, Bulk(nil), nfs3.DataSync)
	f.ok(err)
	if f.attr(h) != before || w.Committed < nfs3.DataSync {
		f.Errorf("writing nothing: %+v, then %+v, %+v", before, f.attr(h), w)
	}
}

// testWriteFetch: data is fetched only for a call that is permitted, and a failure to
// fetch it changes nothing.
func testWriteFetch(f *fixture) {
	h := f.file("file")
	f.write(h, 0, []byte("before"))
	before := f.attr(h)
	denied := func() error {
		f.Error("fetched for a call that is denied")
		return nil
	}
	_, err := f.fs.Write(f.ctx, alice, h, 0, Lazy([]byte("data"), denied), nfs3.FileSync)
	f.want("write to another's file", err, nfs3.ErrAcces)
	_, err = f.fs.Write(f.ctx, root, f.fs.Root(), 0, Lazy([]byte("data"), denied), nfs3.FileSync)
	f.want("write to a directory", err, nfs3.ErrIsDir)

	gone := errors.New("the peer is gone")
	_, err = f.fs.Write(f.ctx, root, h, 0, Lazy(pattern(200000), func() error { return gone }), nfs3.FileSync)
	if !errors.Is(err, gone) {
		f.Errorf("fetch failed: %v", err)
	}
	if got, _ := f.read(h, 0, 100); string(got) != "before" || f.attr(h).Mtime != before.Mtime {
		f.Errorf("a failed write changed the file: %q", got)
	}

	// No lock is held while data is fetched: the fetch itself can look at the file.
	w, err := f.fs.Write(f.ctx, root, h, 0, Lazy([]byte("after!"), func() error {
		if got, _ := f.read(h, 0, 100); string(got) != "before" {
			f.Errorf("data shows before it is written: %q", got)
		}
		f.set(h, setMode(0o600))
		return nil
	}), nfs3.FileSync)
	f.ok(err)
	if got, _ := f.read(h, 0, 100); string(got) != "after!" || w.Committed != nfs3.FileSync || w.Wcc.After.Attr.Mode != 0o600 {
		f.Errorf("%q, %+v", got, w)
	}
}

// testModel compares random operations with what they do to a slice.
func testModel(f *fixture) {
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
					data = Lazy(p, func() error { return nil })
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

// testSnapshot: what was handed out stays what it was until it is released.
func testSnapshot(f *fixture) {
	h := f.file("file")
	const n = 300000
	old := bytes.Repeat([]byte{'o'}, n)
	f.write(h, 0, old)
	var r vfs.ReadResult
	f.ok(f.fs.Read(f.ctx, root, h, 0, n, &r))
	if r.Release == nil || !r.EOF || r.Attr != nfs3.Attrs(f.attr(h)) {
		f.Errorf("%v, EOF %v, %+v", r.Release, r.EOF, r.Attr)
	}
	for _, change := range []func(){
		func() { f.write(h, 0, bytes.Repeat([]byte{'n'}, n)) },
		func() { f.write(h, 10, []byte("small")) },
		func() { f.write(h, 65530, []byte("across pages")) },
		func() { f.set(h, setSize(70000)) },
		func() { f.set(h, setSize(7)) },
		func() { f.set(h, setSize(n)) },
		func() { f.set(h, setSize(0)) },
		func() { f.write(h, 0, bytes.Repeat([]byte{'m'}, 2*n)) },
	} {
		change()
		if got := bytes.Join(r.Data, nil); !bytes.Equal(got, old) {
			f.Fatal("data that was handed out has changed")
		}
	}
	release(r.Release)
}

func release(r xdr.Releaser) {
	if r != nil {
		r.Release()
	}
}
