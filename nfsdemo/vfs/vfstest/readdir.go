package vfstest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// list reads a directory in calls of at most n entries.
func (f *fixture) list(dir nfs3.FH, n int, between func()) []nfs3.Entry {
	f.Helper()
	var (
		all    []nfs3.Entry
		cookie uint64
		verf   nfs3.Verifier
	)
	for {
		got := 0
		r, err := f.fs.ReadDir(f.ctx, root, dir, cookie, verf, true, func(e *nfs3.Entry) bool {
			if got == n {
				return false
			}
			got++
			all = append(all, *e)
			cookie = e.Cookie
			return true
		})
		f.ok(err)
		if !r.Attr.Present {
			f.Error("no attributes of the directory")
		}
		if r.EOF {
			return all
		}
		if got == 0 {
			f.Fatal("neither entries nor the end")
		}
		verf = r.Verf
		between()
	}
}

func testReadDir(f *fixture) {
	d := f.dir("dir", 0o755)
	want := map[string]nfs3.FH{".": d, "..": f.fs.Root()}
	for i := range 100 {
		name := fmt.Sprint("file", i)
		want[name] = f.fileOf(root, d, name, 0o644)
	}
	for _, n := range []int{1, 2, 3, 7, 102, 103, 1000} {
		all := f.list(d, n, func() {})
		if len(all) != len(want) {
			f.Errorf("%d at a time: %d entries, want %d", n, len(all), len(want))
		}
		seen := make(map[string]bool)
		for _, e := range all {
			if seen[e.Name] {
				f.Errorf("%d at a time: %s twice", n, e.Name)
			}
			seen[e.Name] = true
			a := f.attr(want[e.Name])
			if e.FileID != a.FileID || e.Attr != nfs3.PostOpAttrOf(a) ||
				e.File != (nfs3.PostOpFH{Present: true, FH: want[e.Name]}) || e.Cookie == 0 {
				f.Errorf("%d at a time: %+v, want %+v", n, e, a)
			}
		}
	}
	// From any cookie on, the rest follows.
	all := f.list(d, 1000, func() {})
	r, err := f.fs.ReadDir(f.ctx, root, d, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return false })
	f.ok(err)
	// Clients may send a verifier of zero. A file system may refuse it, but not take it for another
	// place.
	for i, e := range all {
		for _, verf := range []nfs3.Verifier{r.Verf, {}} {
			rest := 0
			_, err := f.fs.ReadDir(f.ctx, root, d, e.Cookie, verf, true, func(*nfs3.Entry) bool { rest++; return true })
			if verf != r.Verf && errors.Is(err, nfs3.ErrBadCookie) {
				continue
			}
			f.ok(err)
			if rest != len(all)-i-1 {
				f.Errorf("behind %s: %d entries, want %d", e.Name, rest, len(all)-i-1)
			}
		}
	}
	h := want["file0"]
	_, err = f.fs.ReadDir(f.ctx, root, h, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
	f.want("list of a file", err, nfs3.ErrNotDir)
}

// wantNames fails the test unless these names, and no others, are in a directory, besides "." and
// "..".
func (f *fixture) wantNames(dir nfs3.FH, want ...string) {
	f.Helper()
	got := []string{}
	for _, e := range f.list(dir, 1000, func() {}) {
		got = append(got, e.Name)
	}
	want = append([]string{".", ".."}, want...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.Errorf("the directory has %q, want %q", got, want)
	}
}

// testReadDirPlain: without plus the names are the same; attributes need not be there.
func testReadDirPlain(f *fixture) {
	d := f.dir("dir", 0o755)
	f.fileOf(root, d, "file", 0o644)
	f.symlink(d, "link", "file")
	f.mkdir(root, d, "sub", 0o755)
	for _, dir := range []nfs3.FH{d, f.fs.Root()} {
		all := f.list(dir, 1000, func() {})
		i := 0
		r, err := f.fs.ReadDir(f.ctx, root, dir, 0, nfs3.Verifier{}, false, func(e *nfs3.Entry) bool {
			if i < len(all) && (e.Name != all[i].Name || e.FileID != all[i].FileID || e.Cookie != all[i].Cookie) {
				f.Errorf("%+v, want %+v", e, all[i])
			}
			i++
			return true
		})
		f.ok(err)
		if i != len(all) || !r.EOF || r.Attr != nfs3.PostOpAttrOf(f.attr(dir)) {
			f.Errorf("%d entries, want %d; EOF %v, %+v", i, len(all), r.EOF, r.Attr)
		}
	}
}

// testReadDirEdges: the end of a directory, and invalid cookies.
func testReadDirEdges(f *fixture) {
	d := f.dir("dir", 0o755)
	f.fileOf(root, d, "file", 0o644)
	all := f.list(d, 10, func() {})
	r, err := f.fs.ReadDir(f.ctx, root, d, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return false })
	f.ok(err)
	if r.EOF {
		f.Error("the end, though no entry was taken")
	}
	// Behind the last there is nothing but the end, however often it is asked.
	for range 2 {
		r, err = f.fs.ReadDir(f.ctx, root, d, all[len(all)-1].Cookie, r.Verf, true, func(e *nfs3.Entry) bool {
			f.Errorf("%s is behind the last entry", e.Name)
			return true
		})
		f.ok(err)
		if !r.EOF {
			f.Error("no end behind the last entry")
		}
	}
	for _, cookie := range []uint64{1<<64 - 1, 1 << 63, 1<<63 - 1, 1 << 62} {
		n := 0
		_, err := f.fs.ReadDir(f.ctx, root, d, cookie, r.Verf, true, func(*nfs3.Entry) bool { n++; return true })
		if err != nil {
			f.want(fmt.Sprintf("cookie %#x", cookie), err, nfs3.ErrBadCookie)
		}
		if n > len(all) {
			f.Errorf("cookie %#x: %d entries of %d", cookie, n, len(all))
		}
	}
}
