package vfstest

import (
	"bytes"
	"errors"
	"math"

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

// pattern returns n bytes, each of which differs from its neighbours.
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
		{math.MaxInt64, 1 << 20, "", true},
		{1 << 63, 1, "", true},
		{math.MaxUint64 - 1, 1 << 20, "", true},
		{math.MaxUint64, 0, "", true},
		{math.MaxUint64, 1, "", true},
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
	f.write(h, 0, []byte("data"))
	before := f.attr(h)
	for _, size := range []uint64{limit + 1, 1 << 63, 1<<63 + 1, math.MaxUint64} {
		set := setSize(size)
		_, err = f.fs.SetAttr(f.ctx, root, h, &set, nil)
		f.want("size over the limit", err, nfs3.ErrFBig)
	}
	for _, off := range []uint64{0, 4, limit, 1 << 63, math.MaxUint64} {
		for _, n := range []uint32{0, 1, math.MaxUint32} {
			_, err := f.fs.Commit(f.ctx, root, h, off, n)
			f.want("commit at an edge", err, nfs3.OK)
		}
	}
	if got := f.attr(h); got != before {
		f.Errorf("%+v, then %+v", before, got)
	}
	if got, _ := f.read(h, 0, 10); string(got) != "data" {
		f.Errorf("%q", got)
	}

	before = f.attr(h) // it has been read
	w, err := f.fs.Write(f.ctx, root, h, 5, Bulk(nil), nfs3.DataSync)
	f.ok(err)
	if f.attr(h) != before || w.Committed < nfs3.DataSync {
		f.Errorf("writing nothing: %+v, then %+v, %+v", before, f.attr(h), w)
	}
}

// testWriteFetch: data is fetched only after the call was permitted, and a failed fetch changes
// nothing.
func testWriteFetch(f *fixture) {
	h := f.file("file")
	f.write(h, 0, []byte("before"))
	before := f.attr(h)
	denied := func() error {
		f.Error("fetched for a call that is denied")
		return nil
	}
	_, err := f.fs.Write(f.ctx, alice, h, 0, LazyBulk([]byte("data"), denied), nfs3.FileSync)
	f.want("write to another's file", err, nfs3.ErrAcces)
	_, err = f.fs.Write(f.ctx, root, f.fs.Root(), 0, LazyBulk([]byte("data"), denied), nfs3.FileSync)
	f.want("write to a directory", err, nfs3.ErrIsDir)

	gone := errors.New("the peer is gone")
	_, err = f.fs.Write(f.ctx, root, h, 0, LazyBulk(pattern(200000), func() error { return gone }), nfs3.FileSync)
	if !errors.Is(err, gone) {
		f.Errorf("fetch failed: %v", err)
	}
	if got, _ := f.read(h, 0, 100); string(got) != "before" || f.attr(h).Mtime != before.Mtime {
		f.Errorf("a failed write changed the file: %q", got)
	}

	// No lock is held while data is fetched: the fetch itself can look at the file.
	w, err := f.fs.Write(f.ctx, root, h, 0, LazyBulk([]byte("after!"), func() error {
		if got, _ := f.read(h, 0, 100); string(got) != "before" {
			f.Errorf("data shows before it is written: %q", got)
		}
		f.set(h, setMode(0o600))
		return nil
	}), nfs3.FileSync)
	f.ok(err)
	if got, _ := f.read(h, 0, 100); string(got) != "after!" ||
		w.Committed != nfs3.FileSync || w.Wcc.After.Attr.Mode != 0o600 {
		f.Errorf("%q, %+v", got, w)
	}
}

// testWriteMeanwhile: a WRITE is a single step, after what others do while its data is fetched.
// Older attributes before it would hide their changes from the client.
func testWriteMeanwhile(f *fixture) {
	h := f.file("file")
	f.set(h, setMode(0o666))
	var before nfs3.Fattr
	w, err := f.fs.Write(f.ctx, bob, h, 0, LazyBulk([]byte("bob"), func() error {
		f.write(h, 0, []byte("root's"))
		f.set(h, nfs3.Sattr{Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 1}}})
		before = f.attr(h)
		return nil
	}), nfs3.FileSync)
	f.ok(err)
	if w.Wcc.Before != before.Pre() {
		f.Errorf("before %+v, want %+v", w.Wcc.Before, before.Pre())
	}
	if got, _ := f.read(h, 0, 10); string(got) != "bobt's" {
		f.Errorf("%q", got)
	}

	w, err = f.fs.Write(f.ctx, bob, h, 0, LazyBulk([]byte("more"), func() error {
		f.set(h, setMode(0o644))
		return nil
	}), nfs3.FileSync)
	f.want("write to a file that is closed to him meanwhile", err, nfs3.ErrAcces)
	f.wantSame(h, w.Wcc)
	if got, _ := f.read(h, 0, 10); string(got) != "bobt's" {
		f.Errorf("%q", got)
	}
}

// testSnapshot: the data of a READ does not change until it is released.
func testSnapshot(f *fixture) {
	h := f.file("file")
	const n = 300000
	old := bytes.Repeat([]byte{'o'}, n)
	f.write(h, 0, old)
	var r vfs.ReadResult
	f.ok(f.fs.Read(f.ctx, root, h, 0, n, &r))
	if r.Release == nil || !r.EOF || r.Attr != nfs3.PostOpAttrOf(f.attr(h)) {
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
