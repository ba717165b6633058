package memfs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// list reads the directory dir, at most batch entries per call, and calls see with each name after
// the call that returned it. work is how many entries the file system visited.
func list(tb testing.TB, fs *FS, dir nfs3.FH, batch int, see func(name string)) (work int) {
	tb.Helper()
	var cookie uint64
	var verf nfs3.Verifier
	for {
		var got []string
		room := batch
		r, err := fs.ReadDir(tb.Context(), super, dir, cookie, verf, true, func(e *nfs3.Entry) bool {
			work++
			if room == 0 {
				return false
			}
			room--
			if cookie = e.Cookie; cookie > dotDotCookie {
				got = append(got, e.Name)
			}
			return true
		})
		if err != nil {
			tb.Fatal(err)
		}
		for _, name := range got {
			see(name)
		}
		if r.EOF {
			return work
		}
		verf = r.Verf
	}
}

// names returns the names in a directory, and the work as list does.
func names(tb testing.TB, fs *FS, dir nfs3.FH, batch int) (names []string, work int) {
	tb.Helper()
	work = list(tb, fs, dir, batch, func(name string) { names = append(names, name) })
	return names, work
}

// TestLargeDirectory: the time to make, read and remove a directory of 100,000 entries grows
// linearly, in any order.
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

// TestDirectoryShrinks: a directory frees the memory of removed names.
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

// TestCookies: every entry gets its own cookie, even if its name existed before, and keeps it when
// it is renamed.
func TestCookies(t *testing.T) {
	fs := newFS(t, Config{})
	r := fs.Root()
	last := fs.root.lastCookie
	given := func(what string, want uint64) {
		t.Helper()
		if got := fs.root.lastCookie - last; got != want {
			t.Errorf("%s: %d cookies were given, want %d", what, got, want)
		}
		last = fs.root.lastCookie
	}
	d := mkdir(t, fs, r, "d")
	given("mkdir", 1)
	h := create(t, fs, "a")
	given("create", 1)
	create(t, fs, "b")
	given("create", 1)
	rename(t, fs, r, "a", r, "c")
	given("rename", 0)
	rename(t, fs, r, "c", r, "b")
	given("rename over a file", 0)
	rename(t, fs, r, "b", d, "b")
	given("rename to another directory", 0)
	rename(t, fs, d, "b", r, "b")
	given("rename from there", 1)
	remove(t, fs, r, "b")
	create(t, fs, "b")
	given("create of a name that was there before", 1)
	if _, err := fs.Rmdir(t.Context(), super, r, "d"); err != nil {
		t.Error(err)
	}
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

// TestReadDirPlain: a plain READDIR makes no attributes and handles.
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

// TestRenameSameFile: a RENAME that changes nothing requires no permission.
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

// TestRenameListed: renaming each listed file, as "find -exec mv" does, comes to an end.
func TestRenameListed(t *testing.T) {
	const n = 10
	for _, batch := range []int{1, 2, 7} {
		fs := newFS(t, Config{})
		for i := range n {
			create(t, fs, fmt.Sprint(i))
		}
		seen := 0
		list(t, fs, fs.Root(), batch, func(name string) {
			if seen++; seen > n {
				t.Fatalf("%d at a time: %s is listed again", batch, name)
			}
			rename(t, fs, fs.Root(), name, fs.Root(), name+".old")
		})
		if seen != n {
			t.Errorf("%d at a time: %d names were seen, want %d", batch, seen, n)
		}
	}
}

// TestReplaceListed: a name that always exists is listed once, even if its file is replaced.
func TestReplaceListed(t *testing.T) {
	fs := newFS(t, Config{})
	r := fs.Root()
	other := mkdir(t, fs, r, "dir")
	for _, name := range []string{"a", "b", "c", "d"} {
		create(t, fs, name)
		createIn(t, fs, other, name)
	}
	create(t, fs, "new")
	var got []string
	list(t, fs, r, 1, func(name string) {
		got = append(got, name)
		if name != "b" {
			return
		}
		rename(t, fs, r, "new", r, "a")
		rename(t, fs, other, "b", r, "b")
		rename(t, fs, other, "c", r, "c")
		rename(t, fs, r, "dir", r, "moved")
	})
	if want := []string{"dir", "a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
