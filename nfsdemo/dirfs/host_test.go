//go:build linux

package dirfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// tiny keeps almost no descriptors open, so files are found by their names again.
var tiny = limits{paths: 1, data: 1}

// TestHostChanges: the host changes files in use, with and without open descriptors.
func TestHostChanges(t *testing.T) {
	for _, lim := range []limits{tiny, {paths: 100, data: 100}} {
		t.Run(fmt.Sprint(lim.paths), func(t *testing.T) {
			dir := tempDir(t)
			path := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
			f, err := newFS(Config{Path: dir}, lim)
			must(t, err)
			defer f.Close()
			ctx := t.Context()
			a := mkdir(t, f, f.Root(), "a")
			b := mkdir(t, f, a, "b")
			file := createIn(t, f, b, "file")
			write(t, f, file, 0, []byte("data"))
			other := create(t, f, "other")
			write(t, f, other, 0, []byte("other"))

			for i, step := range []func() error{
				func() error { return os.Rename(path("a", "b", "file"), path("a", "b", "file2")) },
				func() error { return os.Rename(path("a", "b", "file2"), path("file3")) },
				func() error { return os.Rename(path("file3"), path("a", "b", "file")) },
				func() error { return os.Rename(path("a", "b"), path("c")) },
				func() error { return os.Rename(path("a"), path("c", "d")) },
				func() error { return os.Rename(path("c", "file"), path("c", "d", "file")) },
				func() error { return os.Link(path("c", "d", "file"), path("link")) },
				func() error { return os.Remove(path("c", "d", "file")) },
			} {
				must(t, step())
				wantData(t, f, file, "data")
				wantData(t, f, other, "other")
				if t.Failed() {
					t.Fatalf("step %d", i)
				}
			}
			if o, _, err := f.Lookup(ctx, super, a, ".."); o.File != b || err != nil {
				t.Errorf("above a, which was moved below b: %v", err)
			}
			if o, _, err := f.Lookup(ctx, super, b, ".."); o.File != f.Root() || err != nil {
				t.Errorf("above b: %v", err)
			}
			names := make(map[string]uint64)
			walkAll(t, f, a, false, 1, func(e *nfs3.Entry) { names[e.Name] = e.FileID })
			if attr, err := f.GetAttr(ctx, b); err != nil || names[".."] != attr.FileID {
				t.Errorf("above a: %v, want %d, %v", names, attr.FileID, err)
			}
			// If another file replaces a file, the old one is gone.
			must(t, os.WriteFile(path("new"), []byte("new"), 0o644))
			must(t, os.Rename(path("new"), path("other")))
			must(t, os.Remove(path("link")))
			for _, h := range []nfs3.FH{file, other} {
				for range 2 {
					for name, err := range map[string]error{
						"getattr": first(f.GetAttr(ctx, h)),
						"read":    second(vfstest.Read(ctx, f, super, h, 0, 1)),
						"write":   first(f.Write(ctx, super, h, 0, vfstest.Bulk([]byte("x")), nfs3.Unstable)),
						"commit":  first(f.Commit(ctx, super, h, 0, 0)),
						"setattr": first(f.SetAttr(ctx, super, h, &nfs3.Sattr{Mode: nfs3.Set32{Set: true}}, nil)),
						"link":    second(f.Link(ctx, super, h, f.Root(), "link2")),
					} {
						if err != nfs3.ErrStale {
							t.Errorf("%s: %v", name, err)
						}
					}
				}
			}
			o, _, err := f.Lookup(ctx, super, f.Root(), "other")
			must(t, err)
			wantData(t, f, o.File, "new")
			if o.File == other {
				t.Error("another file of the same handle")
			}
			must(t, os.RemoveAll(path("c")))
			for _, h := range []nfs3.FH{a, b} {
				if _, _, err := f.Lookup(ctx, super, h, "x"); err != nfs3.ErrStale {
					t.Errorf("lookup in a directory that is gone: %v", err)
				}
				if _, _, err := f.Create(ctx, super, h, "x", &nfs3.CreateHow{}); err != nfs3.ErrStale {
					t.Errorf("create in a directory that is gone: %v", err)
				}
			}
		})
	}
}

func first[A any](_ A, err error) error { return err }

// TestMovedOut: what the host has moved out of the directory stays reachable by the kernel's
// handles, as with Linux's own server, but nothing above it does. If files are found by names, it
// is gone once no descriptor is open.
func TestMovedOut(t *testing.T) { bothWays(t, testMovedOut) }

func testMovedOut(t *testing.T, byName bool) {
	o := newOutside(t)
	f, err := newFS(Config{Path: o.export, ByName: byName}, tiny)
	must(t, err)
	defer f.Close()
	d := mkdir(t, f, f.Root(), "dir")
	h := createIn(t, f, d, "file")
	away := filepath.Join(filepath.Dir(o.export), "away")
	must(t, os.Rename(filepath.Join(o.export, "dir"), away))
	create(t, f, "other") // pushes out cached descriptors
	if _, _, err := f.Lookup(t.Context(), super, f.Root(), "other"); err != nil {
		t.Error(err)
	}
	f.tree.descs.paths.purge()
	var want error
	if byName {
		want = nfs3.ErrStale
	}
	for _, h := range []nfs3.FH{h, d} {
		if _, err := f.GetAttr(t.Context(), h); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if up, _, err := f.Lookup(t.Context(), super, d, ".."); err != nfs3.ErrStale {
		t.Errorf("above a directory that was moved out: %+v, %v", up, err)
	}
	// Once moved back, it is found by name and has its former handle.
	must(t, os.Rename(away, filepath.Join(o.export, "dir")))
	if back, _, err := f.Lookup(t.Context(), super, f.Root(), "dir"); back.File != d || err != nil {
		t.Error(err)
	}
}

// TestRootRemoved: without its root directory, the file system answers stale.
func TestRootRemoved(t *testing.T) {
	dir := filepath.Join(tempDir(t), "root")
	must(t, os.Mkdir(dir, 0o755))
	f := newIn(t, Config{Path: dir})
	must(t, os.Remove(dir))
	for range 2 {
		if _, err := f.GetAttr(t.Context(), f.Root()); err != nfs3.ErrStale {
			t.Error(err)
		}
	}
}

// TestNothingIsOpened: FIFOs and devices have attributes, but are never opened, because that could
// block for ever.
func TestNothingIsOpened(t *testing.T) {
	dir := tempDir(t)
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	must(t, unix.Mknod(filepath.Join(dir, "socket"), unix.S_IFSOCK|0o644, 0))
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	for _, name := range []string{"fifo", "socket"} {
		o, _, err := f.Lookup(ctx, super, f.Root(), name)
		must(t, err)
		for what, err := range map[string]error{
			"read":     second(vfstest.Read(ctx, f, super, o.File, 0, 1)),
			"write":    first(f.Write(ctx, super, o.File, 0, vfstest.Bulk([]byte("x")), nfs3.FileSync)),
			"commit":   first(f.Commit(ctx, super, o.File, 0, 0)),
			"size":     first(f.SetAttr(ctx, super, o.File, &nfs3.Sattr{Size: nfs3.Set64{Set: true}}, nil)),
			"readlink": second(f.ReadLink(ctx, super, o.File)),
		} {
			if !errors.Is(err, nfs3.ErrInval) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
		if _, _, err := f.Create(ctx, super, f.Root(), name, &nfs3.CreateHow{Set: nfs3.Sattr{Size: nfs3.Set64{Set: true}}}); err != nfs3.ErrExist {
			t.Errorf("create over %s: %v", name, err)
		}
		wcc, err := f.SetAttr(ctx, super, o.File, &nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o600}}, nil)
		if err != nil || wcc.After.Attr.Mode != 0o600 {
			t.Errorf("mode of %s: %+v, %v", name, wcc, err)
		}
	}
}

// TestAbove: the parent is the directory's current parent, even if something else now has its old
// name.
func TestAbove(t *testing.T) {
	dir := tempDir(t)
	path := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	f := newIn(t, Config{Path: dir})
	a := mkdir(t, f, f.Root(), "a")
	d := mkdir(t, f, a, "d")
	b := mkdir(t, f, f.Root(), "b")
	must(t, os.Rename(path("a", "d"), path("b", "d")))
	must(t, os.Mkdir(path("a", "d"), 0o755))
	for range 2 {
		if o, _, err := f.Lookup(t.Context(), super, d, ".."); o.File != b || err != nil {
			t.Errorf("%+v, %v", o, err)
		}
	}
	must(t, os.RemoveAll(path("b")))
	if _, _, err := f.Lookup(t.Context(), super, d, ".."); err != nfs3.ErrStale {
		t.Error(err)
	}
}
