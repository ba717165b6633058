//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestRestart: handles stay valid after a restart, whatever happened to the files meanwhile.
func TestRestart(t *testing.T) { bothWays(t, testRestart) }

func testRestart(t *testing.T, byName bool) {
	f := openWith(t, Config{ByName: byName})
	ctx, dir := t.Context(), f.tree.host.path
	path := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	a := mkdir(t, f, f.Root(), "a")
	b := mkdir(t, f, a, "b")
	c := mkdir(t, f, b, "c")
	handles := make(map[string]nfs3.FH)
	for _, name := range []string{"stays", "renamed here", "renamed there", "in a moved directory", "removed", "made anew", "replaced", "linked", "renamed by us"} {
		handles[name] = createIn(t, f, c, name)
		write(t, f, handles[name], 0, []byte(name))
	}
	if _, _, err := f.Rename(ctx, super, c, "renamed by us", f.Root(), "renamed by us, then"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Link(ctx, super, handles["linked"], b, "a further name"); err != nil {
		t.Fatal(err)
	}
	id, root := f.ID(), f.Root()
	must(t, f.Close())

	must(t, os.Rename(path("a", "b", "c", "renamed here"), path("a", "b", "c", "renamed here 2")))
	must(t, os.Rename(path("a", "b", "c", "renamed there"), path("renamed there 2")))
	must(t, os.Mkdir(path("x"), 0o755))
	must(t, os.Rename(path("a", "b"), path("x", "y")))
	must(t, os.Remove(path("x", "y", "c", "removed")))
	must(t, os.Remove(path("x", "y", "c", "linked")))
	must(t, os.Rename(path("x", "y", "a further name"), path("x", "y", "another further name")))
	must(t, os.Remove(path("x", "y", "c", "made anew")))
	must(t, os.WriteFile(path("x", "y", "c", "made anew"), []byte("other"), 0o644))
	must(t, os.WriteFile(path("other"), []byte("other"), 0o644))
	must(t, os.Rename(path("other"), path("x", "y", "c", "replaced")))

	f, err := New(configOf(f))
	must(t, err)
	defer func() { f.Close() }()
	if f.ID() != id || f.Root() != root {
		t.Error("another ID, or another root")
	}
	for range 2 {
		for name, h := range handles {
			switch name {
			case "removed", "made anew", "replaced":
				if _, err := f.GetAttr(ctx, h); err != nfs3.ErrStale {
					t.Errorf("%s: %v", name, err)
				}
			default:
				wantData(t, f, h, name)
			}
		}
		for name, h := range map[string]nfs3.FH{"a": a, "b": b, "c": c} {
			if _, err := f.GetAttr(ctx, h); err != nil {
				t.Errorf("directory %s: %v", name, err)
			}
		}
		if o, _, err := f.Lookup(ctx, super, c, ".."); o.File != b || err != nil {
			t.Errorf("above c: %+v, %v", o, err)
		}
		if o, _, err := f.Lookup(ctx, super, b, "c"); o.File != c || err != nil {
			t.Errorf("c: %+v, %v", o, err)
		}
		f = restart(t, f)
	}
}

// TestExclusiveAfterRestart: a repeated exclusive CREATE succeeds, even across a restart.
func TestExclusiveAfterRestart(t *testing.T) {
	f := openState(t)
	ctx := t.Context()
	// All bits that may matter, and those that some file systems cannot store.
	how := nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: nfs3.Verifier{0xff, 0x80, 3, 4, 0x85, 6, 7, 8}}
	first, _, err := f.Create(ctx, super, f.Root(), "file", &how)
	must(t, err)
	if a := first.Attr.Attr; a.Atime.Sec >= 1<<31 || a.Mtime.Sec >= 1<<31 {
		t.Errorf("times that not all file systems can keep: %+v", a)
	}
	f = restart(t, f)
	defer f.Close()
	second, _, err := f.Create(ctx, super, f.Root(), "file", &how)
	if err != nil || second.File != first.File {
		t.Errorf("repeated: %v", err)
	}
	for i := range how.Verf {
		other := how
		other.Verf[i] ^= 1
		if _, _, err := f.Create(ctx, super, f.Root(), "file", &other); err != nfs3.ErrExist {
			t.Errorf("another verifier, byte %d: %v", i, err)
		}
	}
	// Once the client has set the attributes, it is a file like any other.
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o644}, Atime: nfs3.SetTime{How: nfs3.ToServerTime}, Mtime: nfs3.SetTime{How: nfs3.ToServerTime}}
	if _, err := f.SetAttr(ctx, super, first.File, &set, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := f.Create(ctx, super, f.Root(), "file", &how); err != nfs3.ErrExist {
		t.Errorf("repeated late: %v", err)
	}
}
