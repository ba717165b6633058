package memfs

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestSpaceReturns: once everything is removed, all space is free again.
func TestSpaceReturns(t *testing.T) {
	fs := newFS(t, Config{})
	r := fs.Root()
	empty, _, err := fs.StatFS(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	used := fs.used.Load()
	d := mkdir(t, fs, r, "dir")
	h := createIn(t, fs, d, "file")
	write(t, fs, h, 0, make([]byte, 1<<20))
	write(t, fs, h, 1<<40, []byte("far"))
	link(t, fs, h, r, "another name")
	if _, _, err := fs.Symlink(t.Context(), super, d, "link", strings.Repeat("p", 1000), &nfs3.Sattr{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fs.Mknod(t.Context(), super, d, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{}); err != nil {
		t.Fatal(err)
	}
	rename(t, fs, d, "link", r, "a link of a longer name")
	write(t, fs, createIn(t, fs, d, "replaced"), 0, make([]byte, 100_000))
	rename(t, fs, r, "a link of a longer name", d, "replaced")
	rename(t, fs, r, "dir", r, "renamed")
	mkdir(t, fs, r, "replaced by a directory")
	rename(t, fs, r, "renamed", r, "replaced by a directory")
	check(t, fs)

	for _, name := range []string{"file", "fifo", "replaced"} {
		remove(t, fs, d, name)
	}
	if a, err := fs.GetAttr(t.Context(), h); err != nil || a.Nlink != 1 || a.Used < 1<<20 {
		t.Errorf("with a name left: %+v, %v", a, err)
	}
	remove(t, fs, r, "another name")
	if _, err := fs.Rmdir(t.Context(), super, r, "replaced by a directory"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := fs.StatFS(t.Context(), r); got != empty || err != nil {
		t.Errorf("%+v, at first %+v; %v", got, empty, err)
	}
	if got := fs.used.Load(); got != used || fs.pages.inUse != 0 {
		t.Errorf("%d bytes are charged, at first %d; %d in pages", got, used, fs.pages.inUse)
	}
}

// TestRemoveLeased: pages of a removed file return to the pool when the last reader releases them.
func TestRemoveLeased(t *testing.T) {
	fs := newFS(t, Config{})
	h := create(t, fs, "file")
	data := bytes.Repeat([]byte("data"), 50_000)
	write(t, fs, h, 0, data)
	pages := fs.pages.inUse
	var r vfs.ReadResult
	if err := fs.Read(t.Context(), super, h, 0, blockSize+1, &r); err != nil {
		t.Fatal(err)
	}
	free := fs.used.Load()
	remove(t, fs, fs.Root(), "file")
	if fs.pages.inUse != 2*blockSize || pages != 3*blockSize+4<<10 {
		t.Errorf("%d bytes of %d are in use", fs.pages.inUse, pages)
	}
	if got := free - fs.used.Load(); got < int64(len(data)) {
		t.Errorf("%d bytes were given back", got)
	}
	if got := bytes.Join(r.Data, nil); !bytes.Equal(got, data[:blockSize+1]) {
		t.Error("data that was handed out has changed")
	}
	r.Release.Release()
	if fs.pages.inUse != 0 {
		t.Errorf("%d bytes are in use", fs.pages.inUse)
	}
}

// TestRemoveWriting: data of a WRITE is dropped if the file is removed meanwhile.
func TestRemoveWriting(t *testing.T) {
	fs := newFS(t, Config{})
	h := create(t, fs, "file")
	_, err := fs.Write(t.Context(), super, h, 0, vfstest.LazyBulk(make([]byte, 100_000), func() error {
		remove(t, fs, fs.Root(), "file")
		return nil
	}), nfs3.FileSync)
	if err != nfs3.ErrStale {
		t.Error(err)
	}
	if fs.pages.inUse != 0 || fs.used.Load() != nodeCharge {
		t.Errorf("%d bytes in pages, %d in all are in use", fs.pages.inUse, fs.used.Load())
	}
}

// TestFull: an operation that needs one byte more than there is room for fails and changes nothing.
// Operations that need no room succeed.
func TestFull(t *testing.T) {
	room := chargeOf("file") + nodeCharge
	fs := newFS(t, Config{Capacity: nodeCharge + 2*room})
	ctx, r := t.Context(), fs.Root()
	h := create(t, fs, "file")
	other := create(t, fs, "full")
	before, _ := fs.GetAttr(ctx, r)
	makers := map[string]func(name string, size int) error{
		"create": func(name string, _ int) error {
			_, _, err := fs.Create(ctx, super, r, name, &nfs3.CreateHow{})
			return err
		},
		"mkdir": func(name string, _ int) error {
			_, _, err := fs.Mkdir(ctx, super, r, name, &nfs3.Sattr{})
			return err
		},
		"symlink": func(name string, size int) error {
			_, _, err := fs.Symlink(ctx, super, r, name, strings.Repeat("p", size), &nfs3.Sattr{})
			return err
		},
		"mknod": func(name string, _ int) error {
			_, _, err := fs.Mknod(ctx, super, r, name, nfs3.TypeSock, nfs3.Specdata{}, &nfs3.Sattr{})
			return err
		},
		"link": func(name string, _ int) error {
			_, _, err := fs.Link(ctx, super, h, r, name)
			return err
		},
		"rename": func(string, int) error {
			_, _, err := fs.Rename(ctx, super, r, "full", r, "full!")
			return err
		},
	}
	for what, do := range makers {
		if err := do("x", 1); !errors.Is(err, nfs3.ErrNoSpc) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a, _ := fs.GetAttr(ctx, r)
	if a != before {
		t.Errorf("the root was %+v, and is %+v", before, a)
	}
	if a, err := fs.GetAttr(ctx, h); err != nil || a.Nlink != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	check(t, fs)

	// A name of the same length, and one that replaces another.
	rename(t, fs, r, "full", r, "FULL")
	rename(t, fs, r, "FULL", r, "file")
	if _, err := fs.GetAttr(ctx, other); err != nil {
		t.Error(err)
	}
	// Now there is room for exactly one, to the byte.
	delete(makers, "rename")
	delete(makers, "link")
	for what, do := range makers {
		fits := "1234"
		if what == "symlink" {
			fits = "123" // and a path of one byte
		}
		if err := do(fits+"5", 1); !errors.Is(err, nfs3.ErrNoSpc) {
			t.Errorf("%s of a byte too much: %v", what, err)
		}
		if err := do(fits, 1); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if s, _, _ := fs.StatFS(ctx, r); s.FreeBytes != 0 {
			t.Errorf("%s: %d bytes are free", what, s.FreeBytes)
		}
		if what == "mkdir" {
			if _, err := fs.Rmdir(ctx, super, r, fits); err != nil {
				t.Error(err)
			}
			continue
		}
		remove(t, fs, r, fits)
	}
}

func TestLinkMax(t *testing.T) {
	fs := newFS(t, Config{})
	d := mkdir(t, fs, fs.Root(), "dir")
	h := create(t, fs, "file")
	n := fs.Info().PathConf.LinkMax
	name := make([]byte, 4)
	for i := uint32(1); i < n; i++ {
		name[0], name[1], name[2], name[3] = 'a'+byte(i>>12), 'a'+byte(i>>8&15), 'a'+byte(i>>4&15), 'a'+byte(i&15)
		link(t, fs, h, d, string(name))
	}
	before, _ := fs.GetAttr(t.Context(), h)
	attr, _, err := fs.Link(t.Context(), super, h, d, "one more")
	if err != nfs3.ErrMLink || attr != nfs3.PostOpAttrOf(before) || before.Nlink != n {
		t.Errorf("%+v, %v", attr, err)
	}
	remove(t, fs, d, string(name))
	link(t, fs, h, d, "one more")
}

// bytesOf returns the size of all pages in bytes.
func bytesOf(fs *FS) int64 {
	fs.pages.mu.Lock()
	defer fs.pages.mu.Unlock()
	return fs.pages.inUse + fs.pages.free.Kept()
}

// TestPinned: data that readers have not released stays unchanged, beyond the capacity, when the
// file is overwritten. It is no more than the READs under way asked for. Once released, the memory
// is used again.
func TestPinned(t *testing.T) {
	const size = 4 << 20
	fs := newFS(t, Config{Capacity: size + 1<<20})
	h := create(t, fs, "file")
	var held []vfs.ReadResult
	const rounds = 5
	for round := range rounds {
		write(t, fs, h, 0, bytes.Repeat([]byte{byte(round)}, size))
		var r vfs.ReadResult
		if err := fs.Read(t.Context(), super, h, 0, size, &r); err != nil {
			t.Fatal(err)
		}
		held = append(held, r)
	}
	if used := bytesOf(fs); used < rounds*size || used > rounds*size+spare {
		t.Errorf("%d bytes of memory for %d of data and %d READs of it", used, size, rounds)
	}
	for round, r := range held {
		for _, p := range r.Data {
			if bytes.IndexFunc(p, func(c rune) bool { return c != rune(round) }) >= 0 {
				t.Fatalf("what READ %d was given has changed", round)
			}
		}
		r.Release.Release()
	}
	write(t, fs, h, 0, make([]byte, size))
	if used := bytesOf(fs); used > size+1<<20+spare {
		t.Errorf("%d bytes of memory when all READs have ended", used)
	}
}
