package memfs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// names returns the names in a directory, read at most batch at a time, and how many entries the file system
// came up with to that end.
func names(tb testing.TB, fs *FS, dir nfs3.FH, batch int) (names []string, work int) {
	tb.Helper()
	var cookie uint64
	var verf nfs3.Verifier
	for {
		room := batch
		r, err := fs.ReadDir(tb.Context(), super, dir, cookie, verf, true, func(e *nfs3.Entry) bool {
			work++
			if room == 0 {
				return false
			}
			room--
			if cookie = e.Cookie; cookie > dotDotCookie {
				names = append(names, e.Name)
			}
			return true
		})
		if err != nil {
			tb.Fatal(err)
		}
		if r.EOF {
			return names, work
		}
		verf = r.Verf
	}
}

// TestLargeDirectory: what a directory of 100,000 entries takes is in proportion to that, to make, to read and to
// remove it, in whatever order.
func TestLargeDirectory(t *testing.T) {
	const batch = 100
	fs := newFS(t, Config{})
	free := fs.used.Load()
	for _, tt := range []struct {
		what  string
		n     int
		order func(names []string)
	}{
		{"as it was made", 20_000, func([]string) {}},
		{"backwards", 20_000, slices.Reverse[[]string]},
		{"in any order", 100_000, func(names []string) {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		}},
	} {
		d := mkdir(t, fs, fs.Root(), "dir")
		list := &fs.nodes[fs.lastID].list
		for i := range tt.n {
			createIn(t, fs, d, fmt.Sprint("file", i))
		}
		if got := len(list.all); got != (tt.n+runLen-1)/runLen {
			t.Errorf("%d runs", got)
		}
		got, work := names(t, fs, d, batch)
		if len(got) != tt.n || work > tt.n+2+tt.n/batch+1 {
			t.Errorf("%d entries, of %d that were yielded", len(got), work)
		}
		tt.order(got)
		for i, name := range got {
			remove(t, fs, d, name)
			if i == tt.n*9/10 {
				checkRuns(t, list)
				if got, _ := names(t, fs, d, batch); len(got) != tt.n-i-1 {
					t.Errorf("%d entries are left, want %d", len(got), tt.n-i-1)
				}
			}
		}
		if list.moved > tt.n*runLen/2 {
			t.Errorf("removed %s: %d entries were moved", tt.what, list.moved)
		}
		if _, err := fs.Rmdir(t.Context(), super, fs.Root(), "dir"); err != nil {
			t.Error(err)
		}
	}
	if got := fs.used.Load(); got != free {
		t.Errorf("%d bytes are charged, %d at first", got, free)
	}
}

// TestDirectoryShrinks: a directory does not keep the memory of names that it had.
func TestDirectoryShrinks(t *testing.T) {
	fs := newFS(t, Config{})
	const n = 10_000
	for i := range n {
		create(t, fs, fmt.Sprint(i))
	}
	for i := range n - 10 {
		remove(t, fs, fs.Root(), fmt.Sprint(i))
	}
	if d := fs.root.dir; d.most > 100 || len(d.list.all) > 2 {
		t.Errorf("room for %d names, %d runs", d.most, len(d.list.all))
	}
	for i := n - 10; i < n; i++ {
		remove(t, fs, fs.Root(), fmt.Sprint(i))
	}
	if got, _ := names(t, fs, fs.Root(), 10); len(got) != 0 {
		t.Errorf("%q are left", got)
	}
}

// TestCookies: every name gets a cookie of its own, also one that was there before.
func TestCookies(t *testing.T) {
	fs := newFS(t, Config{})
	r := fs.Root()
	last := fs.root.lastCookie
	next := func(what string) {
		t.Helper()
		if got := fs.root.lastCookie; got != last+1 {
			t.Errorf("%s: cookie %d, want %d", what, got, last+1)
		}
		last = fs.root.lastCookie
	}
	h := create(t, fs, "a")
	next("create")
	create(t, fs, "b")
	next("create")
	rename(t, fs, r, "a", r, "c")
	next("rename")
	rename(t, fs, r, "c", r, "b")
	next("rename over a file")
	remove(t, fs, r, "b")
	create(t, fs, "b")
	next("create of a name that was there before")
	if _, err := fs.GetAttr(t.Context(), h); err != nfs3.ErrStale {
		t.Error(err)
	}
	if got, _ := names(t, fs, r, 10); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q", got)
	}
}

func TestBadCookie(t *testing.T) {
	fs := newFS(t, Config{})
	_, err := fs.ReadDir(t.Context(), super, fs.Root(), 2, nfs3.Verifier{1}, true, func(*nfs3.Entry) bool { return true })
	if err != nfs3.ErrBadCookie {
		t.Error(err)
	}
}

// TestReadDirPlain: attributes and handles are made only for who wants them.
func TestReadDirPlain(t *testing.T) {
	fs := newFS(t, Config{})
	create(t, fs, "file")
	if _, err := fs.ReadDir(t.Context(), super, fs.Root(), 0, nfs3.Verifier{}, false, func(e *nfs3.Entry) bool {
		if e.Attr.Present || e.File.Present {
			t.Errorf("%+v", e)
		}
		return true
	}); err != nil {
		t.Error(err)
	}
}

// TestRenameSameFile: where nothing happens, nobody needs a right to it.
func TestRenameSameFile(t *testing.T) {
	fs := newFS(t, Config{})
	h := create(t, fs, "one")
	link(t, fs, h, fs.Root(), "two")
	if _, _, err := fs.Rename(t.Context(), &vfs.Cred{UID: 1}, fs.Root(), "one", fs.Root(), "two"); err != nil {
		t.Error(err)
	}
	if got, _ := names(t, fs, fs.Root(), 10); len(got) != 2 {
		t.Errorf("%q", got)
	}
}
