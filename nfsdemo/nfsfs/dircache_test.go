package nfsfs_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// lookups is a transport that counts LOOKUPs.
type lookups struct {
	*pipe.Conn
	n     int
	after func(n int) // if set, called after the reply to LOOKUP n, before the caller gets it
}

func (l *lookups) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	lookup := nfs3.Proc(binary.BigEndian.Uint32(x.Call.Inline[20:])) == nfs3.ProcLookup
	if lookup {
		l.n++
	}
	n := l.n
	err := l.Conn.RoundTrip(ctx, x)
	if lookup && l.after != nil {
		l.after(n)
	}
	return err
}

// counted returns two views of one tree, as two clients see it. The LOOKUPs of the first are
// counted.
func counted(t *testing.T) (l *lookups, f, other *nfsfs.FS) {
	l = &lookups{Conn: pipe.New(server(t, nil), pipe.Inline)}
	return l, mount(t, l, 0, nfsfs.Config{}), mount(t, l.Conn, 0, nfsfs.Config{})
}

// TestDirectoriesOnce: the directories above several files are looked up once.
func TestDirectoriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes in it
		ctx := t.Context()
		l, f, _ := counted(t)
		ok(t, f.MkdirAll(ctx, "a/b/c", 0o755))
		ok(t, f.Symlink(ctx, "a/b", "link"))
		time.Sleep(2 * time.Second) // until that is forgotten
		l.n = 0
		for i := range 50 {
			name := fmt.Sprint("a/b/c/", i)
			ok(t, f.Mkdir(ctx, name, 0o755))
			ok(t, f.Rename(ctx, name, name+"x"))
			ok(t, f.Remove(ctx, name+"x"))
		}
		if l.n != 3 {
			t.Errorf("%d LOOKUPs of a, b and c, want 3", l.n)
		}
		l.n = 0
		for range 50 {
			must(f.Stat(ctx, "link/../b/c"))(t)
		}
		if want := 4 + 50; l.n != want { // link, a, b, b and c each time
			t.Errorf("%d LOOKUPs, want %d", l.n, want)
		}
		l.n = 0
		time.Sleep(2 * time.Second)
		must(f.Stat(ctx, "a/b/c/"))(t)
		if l.n != 3 {
			t.Errorf("%d LOOKUPs after two seconds, want 3", l.n)
		}
	})
}

// TestDirectoriesChange: this client's changes are visible at once, under any name.
func TestDirectoriesChange(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(ctx context.Context, f *nfsfs.FS) error
		gone   []string
	}{
		{"rename", func(ctx context.Context, f *nfsfs.FS) error { return f.Rename(ctx, "a", "z") }, []string{"a/b/file", "link/file", "a/b/../b/file"}},
		{"rename of what is in the way", func(ctx context.Context, f *nfsfs.FS) error { return f.Rename(ctx, "a/empty", "a/x") }, []string{"a/empty/../b/file"}},
		{"remove of a link", func(ctx context.Context, f *nfsfs.FS) error { return f.Remove(ctx, "link") }, []string{"link/file"}},
		{"remove of a directory", func(ctx context.Context, f *nfsfs.FS) error { return f.Remove(ctx, "a/empty") }, []string{"a/empty/../b/file"}},
		{"remove all", func(ctx context.Context, f *nfsfs.FS) error { return f.RemoveAll(ctx, "a") }, []string{"a/b/file", "link/file"}},
		{"remove all of what is below", func(ctx context.Context, f *nfsfs.FS) error { return f.RemoveAll(ctx, "link/../b") }, []string{"a/b/file", "link/file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			f := local(t, nfsfs.Config{})
			ok(t, f.MkdirAll(ctx, "a/b", 0o755))
			ok(t, f.Mkdir(ctx, "a/empty", 0o755))
			ok(t, f.Symlink(ctx, "a/b", "link"))
			write(t, f, "a/b/file", "")
			for _, name := range tt.gone {
				must(f.Stat(ctx, name))(t)
			}
			ok(t, tt.change(ctx, f))
			for _, name := range tt.gone {
				if _, err := f.Stat(ctx, name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: got %v", name, err)
				}
			}
		})
	}
}

// TestDirectoriesRenamedOver: if a directory is renamed over another, the name leads to the former.
func TestDirectoriesRenamedOver(t *testing.T) {
	ctx := t.Context()
	f := local(t, nfsfs.Config{})
	ok(t, f.Mkdir(ctx, "old", 0o755), f.Mkdir(ctx, "new", 0o755))
	ok(t, f.Symlink(ctx, "old", "link"), f.Symlink(ctx, "new", "other"))
	write(t, f, "old/file", "of the old")
	write(t, f, "new/file", "of the new one")
	if n := must(f.Stat(ctx, "link/file"))(t).Size(); n != int64(len("of the old")) {
		t.Fatalf("the old file has %d bytes", n)
	}
	ok(t, f.Rename(ctx, "other", "link"))
	if n := must(f.Stat(ctx, "link/file"))(t).Size(); n != int64(len("of the new one")) {
		t.Errorf("behind the rename link/file has %d bytes, and so is that of the old directory", n)
	}
}

// TestDirectoriesBesideRename: if a directory is renamed during a walk through it, the result of
// the walk is not remembered.
func TestDirectoriesBesideRename(t *testing.T) {
	ctx := t.Context()
	l, f, _ := counted(t)
	ok(t, f.MkdirAll(ctx, "a/b", 0o755))
	write(t, f, "a/b/file", "")
	g := mount(t, l, 0, nfsfs.Config{}) // its cache is empty
	first := l.n + 1
	l.after = func(n int) {
		if n == first+1 { // a has led to b
			l.after = nil
			ok(t, g.Rename(ctx, "a", "z"))
		}
	}
	must(g.Stat(ctx, "a/b/file"))(t) // it existed when the walk began
	if l.after != nil {
		t.Fatal("nothing was renamed meanwhile")
	}
	if _, err := g.Stat(ctx, "a/b/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a/b/file behind the rename: %v", err)
	}
	must(g.Stat(ctx, "z/b/file"))(t)
}

// TestDirectoriesForgotten: the number of remembered directories is bounded.
func TestDirectoriesForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes in it
		ctx := t.Context()
		l, f, _ := counted(t)
		const dirs = 200
		for i := range dirs {
			ok(t, f.MkdirAll(ctx, fmt.Sprint("d", i, "/e"), 0o755))
			must(f.Stat(ctx, fmt.Sprint("d", i, "/e")))(t)
		}
		l.n = 0
		for i := range dirs {
			must(f.Stat(ctx, fmt.Sprint("d", i, "/e")))(t)
		}
		if known := 2*dirs - l.n; known > 64 {
			t.Errorf("%d directories of %d were remembered, want 64 at most", known, dirs)
		}
	})
}

// TestDirectoriesStale: a directory that another client has replaced is looked up again.
func TestDirectoriesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		_, f, other := counted(t)
		ok(t, f.MkdirAll(ctx, "a/b", 0o755))
		must(f.Stat(ctx, "a/b"))(t)
		_, err := f.Stat(ctx, "a/b/file")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
		ok(t, other.RemoveAll(ctx, "a/b"))
		ok(t, other.Mkdir(ctx, "a/b", 0o755))
		ok(t, other.Mkdir(ctx, "a/b/file", 0o755))
		must(f.Stat(ctx, "a/b/file"))(t)
	})
}

// TestDirectoryReplaced: every method finds the directory that another client has put in the place
// of a remembered one.
func TestDirectoryReplaced(t *testing.T) {
	ctx := t.Context()
	_, f, other := counted(t)
	ok(t, f.Mkdir(ctx, "e", 0o755))
	for name, do := range map[string]func() error{
		"mkdir":     func() error { return f.Mkdir(ctx, "d/x", 0o755) },
		"mknod":     func() error { return f.Mknod(ctx, "d/x", nfs3.TypeFIFO, nfs3.Specdata{}, 0o644) },
		"symlink":   func() error { return f.Symlink(ctx, "x", "d/x") },
		"link":      func() error { return f.Link(ctx, "d/y", "d/x") },
		"remove":    func() error { return f.Remove(ctx, "d/y") },
		"removeall": func() error { return f.RemoveAll(ctx, "d/y") },
		"rename":    func() error { return f.Rename(ctx, "d/y", "d/x") },
		"to there":  func() error { return f.Rename(ctx, "e", "d/e") },
		"create": func() error {
			o, err := f.Create(ctx, "d/x")
			if err != nil {
				return err
			}
			return o.Close()
		},
		"exclusive": func() error {
			o, err := f.OpenFile(ctx, "d/x", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			return o.Close()
		},
		"stat": func() error { _, err := f.Stat(ctx, "d/y"); return err },
	} {
		for range 2 { // the second is remembered when the third replaces it
			ok(t, other.RemoveAll(ctx, "d"), other.Mkdir(ctx, "d", 0o755))
			write(t, other, "d/y", "")
			must(f.Stat(ctx, "d/y"))(t)
		}
		ok(t, other.RemoveAll(ctx, "d"), other.Mkdir(ctx, "d", 0o755))
		write(t, other, "d/y", "")
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHold: a held directory is not looked up again, however much time passes. A directory that
// this client made is not looked up at all. A renamed one is found at its new place.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l, f, other := counted(t)
		ok(t, f.Mkdir(ctx, "a", 0o755), f.Mkdir(ctx, "a/b", 0o755))
		release := must(f.Hold(ctx, "a/b"))(t)
		for i := range 200 { // more directories than are remembered in addition
			ok(t, f.Mkdir(ctx, fmt.Sprint("a/b/", i), 0o755))
			if i%50 == 0 {
				time.Sleep(2 * time.Second)
			}
		}
		if l.n != 0 {
			t.Errorf("%d LOOKUPs of a directory that is held", l.n)
		}
		release()
		time.Sleep(2 * time.Second)
		ok(t, f.Mkdir(ctx, "a/b/last", 0o755))
		if l.n != 2 {
			t.Errorf("%d LOOKUPs when it is not held any more, want 2", l.n)
		}

		defer must(f.Hold(ctx, "a/b/"))(t)()
		ok(t, f.Rename(ctx, "a/b", "a/c"), f.Mkdir(ctx, "a/b", 0o755))
		write(t, f, "a/b/file", "new")
		must(f.Stat(ctx, "a/b/file"))(t)

		defer must(f.Hold(ctx, "a/c"))(t)()
		ok(t, other.RemoveAll(ctx, "a/c"), other.Mkdir(ctx, "a/c", 0o755))
		ok(t, f.Mkdir(ctx, "a/c/in the new one", 0o755))
		must(other.Stat(ctx, "a/c/in the new one"))(t)
	})
}

// TestHoldListed: if another client replaces a held directory, a listing shows the new one.
func TestHoldListed(t *testing.T) {
	ctx := t.Context()
	_, f, other := counted(t)
	ok(t, f.MkdirAll(ctx, "a/old", 0o755))
	defer must(f.Hold(ctx, "a"))(t)()
	ok(t, other.RemoveAll(ctx, "a"), other.MkdirAll(ctx, "a/new", 0o755))
	list := must(f.ReadDir(ctx, "a"))(t)
	if len(list) != 1 || list[0].Name() != "new" {
		t.Errorf("got %v", list)
	}
}
