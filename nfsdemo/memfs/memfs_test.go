package memfs

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var super = &vfs.Cred{}

// newFS returns a file system. At the end of the test it is checked for lost pages and accounting
// errors.
func newFS(tb testing.TB, cfg Config) *FS {
	fs, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { check(tb, fs) })
	return fs
}

func TestConformance(t *testing.T) {
	vfstest.Run(t, func(tb testing.TB) vfs.FS { return newFS(tb, Config{}) })
}

func create(tb testing.TB, fs *FS, name string) nfs3.FH {
	tb.Helper()
	return createIn(tb, fs, fs.Root(), name)
}

func createIn(tb testing.TB, fs *FS, dir nfs3.FH, name string) nfs3.FH {
	tb.Helper()
	o, _, err := fs.Create(tb.Context(), super, dir, name, &nfs3.CreateHow{Mode: nfs3.Guarded})
	if err != nil {
		tb.Fatal(err)
	}
	return o.File
}

func mkdir(tb testing.TB, fs *FS, dir nfs3.FH, name string) nfs3.FH {
	tb.Helper()
	o, _, err := fs.Mkdir(tb.Context(), super, dir, name, &nfs3.Sattr{})
	if err != nil {
		tb.Fatal(err)
	}
	return o.File
}

func link(tb testing.TB, fs *FS, h, dir nfs3.FH, name string) {
	tb.Helper()
	if _, _, err := fs.Link(tb.Context(), super, h, dir, name); err != nil {
		tb.Fatal(err)
	}
}

func rename(tb testing.TB, fs *FS, from nfs3.FH, fromName string, to nfs3.FH, toName string) {
	tb.Helper()
	if _, _, err := fs.Rename(tb.Context(), super, from, fromName, to, toName); err != nil {
		tb.Fatal(err)
	}
}

func remove(tb testing.TB, fs *FS, dir nfs3.FH, name string) {
	tb.Helper()
	if _, err := fs.Remove(tb.Context(), super, dir, name); err != nil {
		tb.Fatal(err)
	}
}

func write(tb testing.TB, fs *FS, h nfs3.FH, off uint64, p []byte) {
	tb.Helper()
	if _, err := fs.Write(tb.Context(), super, h, off, vfstest.Bulk(p), nfs3.Unstable); err != nil {
		tb.Fatal(err)
	}
}

func truncate(tb testing.TB, fs *FS, h nfs3.FH, size uint64) {
	tb.Helper()
	set := nfs3.Sattr{Size: nfs3.Set64{Set: true, To: size}}
	if _, err := fs.SetAttr(tb.Context(), super, h, &set, nil); err != nil {
		tb.Fatal(err)
	}
}

func TestCapacity(t *testing.T) {
	// besides the root and "file", 99 files
	const capacity = 1<<20 + 101*nodeCharge + 100*nameCharge + 99*2 + 4
	fs := newFS(t, Config{Capacity: capacity})
	h := create(t, fs, "file")
	p := bytes.Repeat([]byte{1}, 1<<20)
	write(t, fs, h, 0, p)
	before, _ := fs.GetAttr(t.Context(), h)

	_, err := fs.Write(t.Context(), super, h, 1<<20-100, vfstest.Bulk(bytes.Repeat([]byte{2}, 1<<17)), nfs3.Unstable)
	if !errors.Is(err, nfs3.ErrNoSpc) {
		t.Fatalf("over the capacity: %v", err)
	}
	if a, _ := fs.GetAttr(t.Context(), h); a != before {
		t.Errorf("%+v, then %+v", before, a)
	}
	if got, _, _ := vfstest.Read(t.Context(), fs, super, h, 0, 2<<20); !bytes.Equal(got, p) {
		t.Error("data that was there is not what it was")
	}
	// Existing data can still be overwritten.
	write(t, fs, h, 0, bytes.Repeat([]byte{3}, 1<<20))

	for i := 0; ; i++ {
		_, _, err := fs.Create(t.Context(), super, fs.Root(), fmt.Sprintf("%02d", i), &nfs3.CreateHow{})
		if err == nil && i < 200 {
			continue
		}
		if !errors.Is(err, nfs3.ErrNoSpc) || i != 99 {
			t.Errorf("file %d: %v", i, err)
		}
		break
	}
	s, _, _ := fs.StatFS(t.Context(), fs.Root())
	if s.TotalBytes != capacity || s.FreeBytes != 0 || s.FreeFiles != 0 || s.TotalFiles != 101 {
		t.Errorf("full: %+v", s)
	}
	truncate(t, fs, h, 1<<19)
	if s, _, _ := fs.StatFS(t.Context(), fs.Root()); s.FreeBytes != 1<<19 {
		t.Errorf("half empty: %+v", s)
	}
	if _, err := New(Config{Capacity: 1}); !errors.Is(err, nfs3.ErrNoSpc) {
		t.Errorf("capacity of one byte: %v", err)
	}
}

// TestMemory: the memory kept in the pool is bounded, whatever page sizes were in use before.
func TestMemory(t *testing.T) {
	const capacity = 32 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fs := newFS(t, Config{Capacity: capacity})
	h := create(t, fs, "file")
	for size := 1 << pageShift; size <= blockSize; size *= 2 {
		p := make([]byte, size)
		var err error
		for off := uint64(0); err == nil; off += blockSize {
			_, err = fs.Write(t.Context(), super, h, off, vfstest.Bulk(p), nfs3.Unstable)
		}
		if !errors.Is(err, nfs3.ErrNoSpc) {
			t.Fatal(err)
		}
		check(t, fs)
		truncate(t, fs, h, 0)
		check(t, fs)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > capacity+2*spare {
		t.Errorf("%d MiB are kept, the capacity is %d MiB", got>>20, capacity>>20)
	}
	runtime.KeepAlive(fs)
}

// TestInFlight: pages for data being fetched may exceed the capacity, but are not kept.
func TestInFlight(t *testing.T) {
	fs := newFS(t, Config{Capacity: 1 << 20})
	h := create(t, fs, "file")
	_, err := fs.Write(t.Context(), super, h, 0, vfstest.Bulk(make([]byte, spare+8<<20)), nfs3.Unstable)
	if !errors.Is(err, nfs3.ErrNoSpc) {
		t.Error(err)
	}
}

// TestSmallFiles: a small file uses a small page, even if it was large before or grows bit by bit.
func TestSmallFiles(t *testing.T) {
	fs := newFS(t, Config{})
	for _, tt := range []struct{ size, used int }{
		{1, 512}, {512, 512}, {513, 1024}, {5000, 8192}, {65536, 65536}, {65537, 65536 + 512}, {70000, 65536 + 8192},
	} {
		h := create(t, fs, fmt.Sprint(tt.size))
		p := make([]byte, tt.size)
		write(t, fs, h, 0, p)
		if a, _ := fs.GetAttr(t.Context(), h); a.Used != uint64(tt.used) {
			t.Errorf("%d bytes: %d used, want %d", tt.size, a.Used, tt.used)
		}
		write(t, fs, h, 0, make([]byte, 200000))
		truncate(t, fs, h, uint64(tt.size))
		if a, _ := fs.GetAttr(t.Context(), h); a.Used != uint64(tt.used) {
			t.Errorf("cut to %d bytes: %d used, want %d", tt.size, a.Used, tt.used)
		}
		truncate(t, fs, h, 0)
		for i := range min(tt.size, 6000) {
			write(t, fs, h, uint64(i), p[:1])
		}
		if a, _ := fs.GetAttr(t.Context(), h); a.Used > 2*a.Size+512 {
			t.Errorf("grown to %d bytes: %d used", a.Size, a.Used)
		}
	}
}

func TestStale(t *testing.T) {
	fs := newFS(t, Config{})
	gone := fs.makeHandle(4711)
	if _, err := fs.GetAttr(t.Context(), gone); err != nfs3.ErrStale {
		t.Errorf("handle of a node that is gone: %v", err)
	}
	other := newFS(t, Config{})
	if _, err := fs.GetAttr(t.Context(), other.Root()); err != nfs3.ErrBadHandle {
		t.Errorf("handle of another file system: %v", err)
	}
	h := fs.Root()
	if h.Len() > 32 {
		t.Errorf("handles of %d bytes", h.Len())
	}
}

// TestGoneMeanwhile: a caller that found a node before it was removed, and locks it afterwards,
// gets stale.
func TestGoneMeanwhile(t *testing.T) {
	fs := newFS(t, Config{})
	h := create(t, fs, "file")
	n := fs.nodes[fs.lastID]
	n.nlink = 0 // as at that moment, except that it can still be found
	_, getAttr := fs.GetAttr(t.Context(), h)
	_, setAttr := fs.SetAttr(t.Context(), super, h, &nfs3.Sattr{}, nil)
	_, _, access := fs.Access(t.Context(), super, h, nfs3.AccessAll)
	_, _, readLink := fs.ReadLink(t.Context(), super, h)
	_, _, read := vfstest.Read(t.Context(), fs, super, h, 0, 1)
	_, write := fs.Write(t.Context(), super, h, 0, vfstest.Bulk([]byte("x")), nfs3.Unstable)
	_, commit := fs.Commit(t.Context(), super, h, 0, 0)
	for what, err := range map[string]error{"GetAttr": getAttr, "SetAttr": setAttr, "Access": access, "ReadLink": readLink,
		"Read": read, "Write": write, "Commit": commit} {
		if err != nfs3.ErrStale {
			t.Errorf("%s: %v", what, err)
		}
	}
	n.nlink = 1
}

// TestLinkMode: a symbolic link always has the usual mode, whatever mode was requested.
func TestLinkMode(t *testing.T) {
	fs := newFS(t, Config{})
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o600}}
	o, _, err := fs.Symlink(t.Context(), super, fs.Root(), "link", "path", &set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.SetAttr(t.Context(), super, o.File, &set, nil); err != nil {
		t.Fatal(err)
	}
	if a, _ := fs.GetAttr(t.Context(), o.File); a.Mode != 0o777 || o.Attr.Attr.Mode != 0o777 {
		t.Errorf("mode %o, then %o", o.Attr.Attr.Mode, a.Mode)
	}
}
