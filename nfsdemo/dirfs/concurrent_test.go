//go:build linux

package dirfs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestConcurrent runs all operations at once in one directory. Afterwards all views of it agree.
func TestConcurrent(t *testing.T) {
	dir := tempDir(t)
	f, err := newFS(Config{Path: dir, State: t.TempDir()}, limits{paths: 8, data: 4})
	must(t, err)
	defer f.Close()
	ctx := t.Context()
	dirs := []nfs3.FH{f.Root(), mkdir(t, f, f.Root(), "d1"), mkdir(t, f, f.Root(), "d2")}
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			for i := range 60 {
				d, e := dirs[(w+i)%3], dirs[(w+i/3)%3]
				name, to := fmt.Sprint("f", (w+i)%4), fmt.Sprint("f", i%4)
				o, _, err := f.Create(ctx, super, d, name, &nfs3.CreateHow{})
				if err == nil {
					f.Write(ctx, super, o.File, 0, vfstest.Bulk([]byte("data")), nfs3.Unstable)
					f.Commit(ctx, super, o.File, 0, 0)
					vfstest.Read(ctx, f, super, o.File, 0, 100)
					f.Link(ctx, super, o.File, e, to+"link")
				}
				f.Rename(ctx, super, d, name, e, to)
				f.Remove(ctx, super, e, to+"link")
				f.Mkdir(ctx, super, d, "sub", &nfs3.Sattr{})
				f.Rename(ctx, super, d, "sub", e, "sub")
				f.Rmdir(ctx, super, e, "sub")
				f.Lookup(ctx, super, e, "..")
				f.ReadDir(ctx, super, d, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
				if i%2 == 0 {
					f.Remove(ctx, super, d, name)
				}
			}
		})
	}
	all.Wait()
	for i, h := range dirs {
		path := []string{dir, filepath.Join(dir, "d1"), filepath.Join(dir, "d2")}[i]
		want, err := os.ReadDir(path)
		must(t, err)
		seen := make(map[string]bool)
		walkAll(t, f, h, true, 5, func(e *nfs3.Entry) {
			seen[e.Name] = true
			if !e.File.Present {
				t.Errorf("%s has no handle", e.Name)
				return
			}
			if o, _, err := f.Lookup(ctx, super, h, e.Name); err != nil || o != (vfs.Object{File: e.File.FH, Attr: e.Attr}) && e.Name != "." && e.Name != ".." {
				t.Errorf("%s: %+v, %v; listed as %+v", e.Name, o, err, e)
			}
		})
		for _, e := range want {
			if !seen[e.Name()] {
				t.Errorf("%s is not listed", e.Name())
			}
		}
		if len(seen) != len(want)+2 {
			t.Errorf("%s: %v, want %v", path, seen, want)
		}
	}
}
