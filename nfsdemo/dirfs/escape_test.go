//go:build linux

package dirfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// outside is a directory beside the exported one, with a file that clients must not reach.
type outside struct{ dir, file, export string }

const secret = "secret"

func newOutside(t *testing.T) outside {
	t.Helper()
	top := tempDir(t)
	o := outside{filepath.Join(top, "outside"), filepath.Join(top, "outside", "file"), filepath.Join(top, "export")}
	for _, dir := range []string{o.dir, o.export} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(o.file, []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	return o
}

// untouched checks that nothing outside has changed.
func (o outside) untouched(t *testing.T) {
	t.Helper()
	got, err := os.ReadFile(o.file)
	if err != nil || string(got) != secret {
		t.Errorf("the file outside: %q, %v", got, err)
	}
	var names []string
	filepath.WalkDir(o.dir, func(path string, e fs.DirEntry, err error) error {
		names = append(names, e.Name())
		return err
	})
	if len(names) != 2 {
		t.Errorf("outside there are now %q", names)
	}
	for _, path := range []string{o.dir, o.file} {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil || st.Uid != uint32(os.Getuid()) || st.Mode&0o7777 != 0o644 && st.Mode&0o7777 != 0o755 {
			t.Errorf("%s is now %+v, %v", path, st, err)
		}
	}
}

// TestLinksAreNotFollowed: no operation follows a link, wherever it points.
func TestLinksAreNotFollowed(t *testing.T) {
	o := newOutside(t)
	links := map[string]string{
		"absolute directory": o.dir,
		"absolute file":      o.file,
		"relative directory": "../outside",
		"relative file":      "../outside/file",
		"up":                 "..",
		"root":               "/",
		"inside":             "sub",
		"proc":               "/proc/self/root" + o.dir,
		"dangling":           "../outside/new",
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(o.export, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(o.export, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := newIn(t, Config{Path: o.export})
	ctx, root := t.Context(), f.Root()
	for name, to := range links {
		l, _, err := f.Lookup(ctx, super, root, name)
		if err != nil || l.Attr.Attr.Type != nfs3.TypeLnk {
			t.Errorf("lookup of %s: %v, %+v", name, err, l.Attr.Attr)
			continue
		}
		if got, _, err := f.ReadLink(ctx, super, l.File); got != to || err != nil {
			t.Errorf("%s leads to %q, %v; want %q", name, got, err, to)
		}
		if _, _, err := f.Lookup(ctx, super, l.File, "file"); !errors.Is(err, nfs3.ErrNotDir) {
			t.Errorf("lookup by way of %s: %v", name, err)
		}
		if _, _, err := vfstest.Read(ctx, f, super, l.File, 0, 100); !errors.Is(err, nfs3.ErrInval) {
			t.Errorf("read of %s: %v", name, err)
		}
		if _, err := f.Write(ctx, super, l.File, 0, vfstest.Bulk([]byte("x")), nfs3.FileSync); !errors.Is(err, nfs3.ErrInval) {
			t.Errorf("write to %s: %v", name, err)
		}
		if _, _, err := f.Create(ctx, super, root, name, &nfs3.CreateHow{}); !errors.Is(err, nfs3.ErrExist) {
			t.Errorf("create of %s: %v", name, err)
		}
		if _, _, err := f.Create(ctx, super, l.File, "new", &nfs3.CreateHow{}); !errors.Is(err, nfs3.ErrNotDir) {
			t.Errorf("create by way of %s: %v", name, err)
		}
		if _, err := f.ReadDir(ctx, super, l.File, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true }); !errors.Is(err, nfs3.ErrNotDir) {
			t.Errorf("list of %s: %v", name, err)
		}
		set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o7777}, UID: nfs3.Set32{Set: true, To: 5},
			Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 7, Nsec: 8}}}
		if os.Getuid() != 0 {
			set.UID = nfs3.Set32{}
		}
		wcc, err := f.SetAttr(ctx, super, l.File, &set, nil)
		if a := wcc.After.Attr; err != nil || a.UID != set.UID.To && set.UID.Set || a.Mtime != set.Mtime.To {
			t.Errorf("attributes of %s: %+v, %v", name, a, err)
		}
		if _, _, err := f.Link(ctx, super, l.File, root, name+" again"); err != nil {
			t.Errorf("link to %s: %v", name, err)
		}
		if _, _, err := f.Rename(ctx, super, root, name, root, name+" moved"); err != nil {
			t.Errorf("rename of %s: %v", name, err)
		}
		if _, err := f.Rmdir(ctx, super, root, name+" moved"); !errors.Is(err, nfs3.ErrNotDir) {
			t.Errorf("rmdir of %s: %v", name, err)
		}
		if _, err := f.Remove(ctx, super, root, name+" moved"); err != nil {
			t.Errorf("remove of %s: %v", name, err)
		}
	}
	o.untouched(t)
}

// TestNamesDoNotEscape: no procedure accepts a name that leads out of a directory.
func TestNamesDoNotEscape(t *testing.T) {
	o := newOutside(t)
	f := newIn(t, Config{Path: o.export})
	ctx, root := t.Context(), f.Root()
	h := create(t, f, "file")
	for _, name := range []string{"..", ".", "../outside", "../outside/file", "/", o.file, "file/..", "./file", "..\x00", "x/../../outside/file"} {
		if got, _, err := f.Lookup(ctx, super, root, name); err == nil && got.File != root {
			t.Errorf("lookup of %q: %+v", name, got)
		}
		for what, err := range map[string]error{
			"create":      second(f.Create(ctx, super, root, name, &nfs3.CreateHow{Set: nfs3.Sattr{Size: nfs3.Set64{Set: true}}})),
			"mkdir":       second(f.Mkdir(ctx, super, root, name, &nfs3.Sattr{})),
			"symlink":     second(f.Symlink(ctx, super, root, name, "x", &nfs3.Sattr{})),
			"mknod":       second(f.Mknod(ctx, super, root, name, nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})),
			"link":        second(f.Link(ctx, super, h, root, name)),
			"rename":      second(f.Rename(ctx, super, root, "file", root, name)),
			"rename from": second(f.Rename(ctx, super, root, name, root, "new")),
		} {
			if err == nil {
				t.Errorf("%s of %q succeeds", what, name)
			}
		}
		if _, err := f.Remove(ctx, super, root, name); err == nil {
			t.Errorf("remove of %q succeeds", name)
		}
		if _, err := f.Rmdir(ctx, super, root, name); err == nil {
			t.Errorf("rmdir of %q succeeds", name)
		}
	}
	o.untouched(t)
}

func second[A, B any](_ A, _ B, err error) error { return err }
