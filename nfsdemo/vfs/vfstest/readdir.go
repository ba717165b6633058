package vfstest

import (
	"fmt"
	"sync"

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
			if e.FileID != a.FileID || e.Attr != nfs3.Attrs(a) || e.File != (nfs3.PostOpFH{Present: true, FH: want[e.Name]}) || e.Cookie == 0 {
				f.Errorf("%d at a time: %+v, want %+v", n, e, a)
			}
		}
	}
	// From any cookie on, the rest follows.
	all := f.list(d, 1000, func() {})
	r, err := f.fs.ReadDir(f.ctx, root, d, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return false })
	f.ok(err)
	for i, e := range all {
		rest := 0
		_, err := f.fs.ReadDir(f.ctx, root, d, e.Cookie, r.Verf, true, func(*nfs3.Entry) bool { rest++; return true })
		f.ok(err)
		if rest != len(all)-i-1 {
			f.Errorf("behind %s: %d entries, want %d", e.Name, rest, len(all)-i-1)
		}
	}
	h := want["file0"]
	_, err = f.fs.ReadDir(f.ctx, root, h, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
	f.want("list of a file", err, nfs3.ErrNotDir)
}

// testReadDirChanging: entries that are there all the time are seen once, whatever
// becomes of the directory meanwhile.
func testReadDirChanging(f *fixture) {
	d := f.dir("dir", 0o755)
	const n = 200
	for i := range n {
		f.fileOf(root, d, fmt.Sprint("old", i), 0o644)
	}
	var making sync.WaitGroup
	made := 0
	seen := make(map[string]int)
	for _, e := range f.list(d, 10, func() {
		making.Wait()
		first := made
		if first == n {
			return // else the list would go on as long as the directory grows
		}
		made += 10
		making.Go(func() { // beside the next call
			for i := range 10 {
				_, _, err := f.fs.Create(f.ctx, root, d, fmt.Sprint("new", first+i), &nfs3.CreateHow{})
				if err != nil {
					f.Error(err)
				}
			}
		})
	}) {
		seen[e.Name]++
	}
	making.Wait()
	for i := range n {
		if got := seen[fmt.Sprint("old", i)]; got != 1 {
			f.Errorf("old%d was seen %d times", i, got)
		}
	}
	for name, got := range seen {
		if got != 1 {
			f.Errorf("%s was seen %d times", name, got)
		}
	}
}
