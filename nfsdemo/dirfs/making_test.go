//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// makeWith makes a file as Create does, opens it with flags, and then calls then.
func makeWith(name string, flags int, then func(fd int)) *making {
	m := newFile(name)
	m.make = func(*birth) (int, error) {
		flags := unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC | flags
		fd, err := unix.Openat(m.dir.path.fd, name, flags, 0o600)
		if err == nil {
			then(fd)
		}
		return fd, err
	}
	return m
}

// newFile returns the making of a regular file.
func newFile(name string) *making {
	return &making{c: super, name: name, kind: nfs3.TypeReg}
}

// TestHalfMade: a file whose attributes cannot all be set is removed.
func TestHalfMade(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	root := f.Root()
	open := descriptors(t)
	// The size of a file that is open for reading cannot be set.
	m := makeWith("file", unix.O_RDONLY, func(int) {})
	m.set.Size = nfs3.Set64{Set: true, To: 5}
	_, wcc, err := m.do(&f.tree, &root)
	if err != nfs3.ErrInval || !wcc.Before.Present || !wcc.After.Present {
		t.Errorf("%v, %+v", err, wcc)
	}
	if _, err := os.Lstat(filepath.Join(f.tree.host.path, "file")); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	if n := descriptors(t); n != open {
		t.Errorf("%d descriptors, then %d", open, n)
	}
}

// TestHostIsQuicker: a file that the host makes after the name was looked up, but before ours is
// made, is left alone.
func TestHostIsQuicker(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	root, path := f.Root(), filepath.Join(f.tree.host.path, "file")
	quick := newFile("file")
	quick.make = func(*birth) (int, error) {
		must(t, os.WriteFile(path, []byte("host's"), 0o640))
		return -1, unix.EEXIST
	}
	if _, _, err := quick.do(&f.tree, &root); err != nfs3.ErrExist {
		t.Error(err)
	}
	quick.exists = func(ch *child) error {
		if ch.attr.Size != 6 {
			t.Errorf("%+v", ch.attr)
		}
		return nil
	}
	must(t, os.Remove(path))
	o, _, err := quick.do(&f.tree, &root)
	if err != nil || o.Attr.Attr.Mode != 0o640 {
		t.Errorf("%v, %+v", err, o)
	}
	wantData(t, f, o.File, "host's")
}

// TestDirRemovedMeanwhile: a directory is stale if the host removes it before a file in it is made,
// or gets its name.
func TestDirRemovedMeanwhile(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	for _, tt := range []struct {
		name  string
		flags int
		early bool // the directory is removed before the file is made
	}{
		{"unnamed", unix.O_TMPFILE, true},
		{"named", unix.O_CREAT | unix.O_EXCL, true},
		{"not yet named", unix.O_TMPFILE, false},
	} {
		h := mkdir(t, f, f.Root(), "dir")
		m := newFile("file")
		m.make = func(*birth) (int, error) {
			remove := func() { must(t, os.Remove(filepath.Join(f.tree.host.path, "dir"))) }
			if tt.early {
				remove()
			} else {
				defer remove()
			}
			name := m.name
			if m.unnamed = tt.flags == unix.O_TMPFILE; m.unnamed {
				name = "."
			}
			return m.create(name, tt.flags)
		}
		open := descriptors(t)
		if _, wcc, err := m.do(&f.tree, &h); err != nfs3.ErrStale || wcc.After.Present {
			t.Errorf("%s: %v, %+v", tt.name, err, wcc)
		}
		if n := descriptors(t); n > open {
			t.Errorf("%s: %d descriptors, then %d", tt.name, open, n)
		}
	}
}

// TestSameKeyAgain: a file whose key equals that of an earlier file, because the host made them in
// quick succession, is made again a little later.
func TestSameKeyAgain(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t), ByName: true})
	root := f.Root()
	var (
		st   unix.Statx_t
		made []key
	)
	m := makeWith("file", unix.O_RDWR, func(fd int) {
		must(t, statFD(fd, &st))
		if made = append(made, f.tree.host.keyOf(&st)); len(made) == 1 {
			byNameOf(f).absent.add(made[0]) // as if a removed file had had this key
		}
	})
	o, _, err := m.do(&f.tree, &root)
	must(t, err)
	if st.Mask&unix.STATX_BTIME == 0 {
		return // all files with this inode number have the same key
	}
	if len(made) != 2 || made[0] == made[1] {
		t.Fatalf("made %v", made)
	}
	n, err := f.tree.node(&o.File)
	if err != nil || n.id.key() != made[1] {
		t.Errorf("%v, %v", n, err)
	}
}

// TestNamedWhenWhole: a file gets its name last, and does not replace another file.
func TestNamedWhenWhole(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	root, path := f.Root(), filepath.Join(f.tree.host.path, "file")
	var host func()
	m := newFile("file")
	m.unnamed = true
	m.make = func(*birth) (int, error) {
		flags := unix.O_TMPFILE | unix.O_RDWR | unix.O_CLOEXEC
		fd, err := unix.Openat(m.dir.path.fd, ".", flags, 0o600)
		if err == unix.EOPNOTSUPP {
			t.Skip("needs files without names")
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the file has a name: %v", err)
		}
		host()
		return fd, err
	}
	open := descriptors(t)
	host = func() { must(t, os.WriteFile(path, []byte("host's"), 0o640)) }
	if _, _, err := m.do(&f.tree, &root); err != nfs3.ErrExist {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); string(b) != "host's" || err != nil {
		t.Errorf("the host has %q, %v", b, err)
	}
	if n := descriptors(t); n != open {
		t.Errorf("%d descriptors, then %d", open, n)
	}
	must(t, os.Remove(path))
	host = func() {}
	m.set = nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o604}, Size: nfs3.Set64{Set: true, To: 5}}
	o, wcc, err := m.do(&f.tree, &root)
	if a := o.Attr.Attr; err != nil || a.Nlink != 1 || a.Mode != 0o604 || a.Size != 5 || !wcc.Before.Present || !wcc.After.Present {
		t.Errorf("%v, %+v, %+v", err, a, wcc)
	}
	if a, err := f.GetAttr(t.Context(), o.File); a != o.Attr.Attr || err != nil {
		t.Errorf("%+v, %v, want %+v", a, err, o.Attr.Attr)
	}
}
