//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestSwappedForLinks: the host keeps swapping a directory and a file for links to the outside
// while clients work with them.
func TestSwappedForLinks(t *testing.T) {
	o := newOutside(t)
	dir, away := filepath.Join(o.export, "dir"), filepath.Join(o.export, "away")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	// With so few descriptors, most files are reopened.
	f, err := newFS(Config{Path: o.export}, limits{paths: 1, data: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, root := t.Context(), f.Root()
	d, _, err := f.Lookup(ctx, super, root, "dir")
	if err != nil {
		t.Fatal(err)
	}
	file := createIn(t, f, d.File, "file")
	write(t, f, file, 0, []byte("public"))

	done := make(chan struct{})
	var swapping, working sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			os.Rename(dir, away)
			os.Symlink(o.dir, dir)
			os.Remove(dir)
			os.Rename(away, dir)
			name := filepath.Join(dir, "file")
			os.Rename(name, name+"2")
			os.Symlink(o.file, name)
			os.Remove(name)
			os.Rename(name+"2", name)
		}
	})
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o7777}}
	for range 3 {
		working.Go(func() {
			for range 150 {
				look, _, err := f.Lookup(ctx, super, root, "dir")
				if err != nil {
					look = d
				}
				if o, _, err := f.Lookup(ctx, super, look.File, "file"); err == nil {
					if got, _, err := vfstest.Read(ctx, f, super, o.File, 0, 100); err == nil && string(got) == secret {
						t.Error("the secret is out")
					}
					f.Write(ctx, super, o.File, 0, vfstest.Bulk([]byte("public")), nfs3.Unstable)
					f.SetAttr(ctx, super, o.File, &mode, nil)
				}
				if got, _, err := vfstest.Read(ctx, f, super, file, 0, 100); err == nil && string(got) == secret {
					t.Error("the secret is out")
				}
				f.Create(ctx, super, look.File, "file", &nfs3.CreateHow{Set: nfs3.Sattr{Size: nfs3.Set64{Set: true}}})
				f.Create(ctx, super, look.File, "new", &nfs3.CreateHow{})
				f.Mkdir(ctx, super, look.File, "newdir", &mode)
				f.Rename(ctx, super, look.File, "new", look.File, "newer")
				f.Remove(ctx, super, look.File, "newer")
				f.Rmdir(ctx, super, look.File, "newdir")
				f.ReadDir(ctx, super, look.File, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
			}
		})
	}
	working.Wait()
	close(done)
	swapping.Wait()
	o.untouched(t)
}
