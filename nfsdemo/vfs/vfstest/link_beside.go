package vfstest

import (
	"fmt"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testLinkBesideRemove: a file that gets a name while it loses another is not gone. It does not
// matter which comes first, nor whether the name is removed or given to another file.
func testLinkBesideRemove(f *fixture) {
	r := f.fs.Root()
	d := f.dir("dir", 0o755)
	for i := range 300 {
		name, link := fmt.Sprint("file", i), fmt.Sprint("link", i)
		h := f.file(name)
		var linked error
		var both sync.WaitGroup
		both.Go(func() { _, _, linked = f.fs.Link(f.ctx, root, h, d, link) })
		both.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = f.fs.Remove(f.ctx, root, r, name)
			} else {
				f.file("other")
				_, _, err = f.fs.Rename(f.ctx, root, r, "other", r, name)
			}
			if err != nil {
				f.Error(err)
			}
		})
		both.Wait()
		a, err := f.fs.GetAttr(f.ctx, h)
		switch linked {
		case nil:
			if err != nil || a.Nlink != 1 {
				f.Fatalf("round %d: a file that has a name: %v, %d links", i, err, a.Nlink)
			}
			f.wantName(d, link, h)
		case nfs3.ErrStale, nfs3.ErrNoEnt:
			f.wantStale("a file that has lost its only name", h)
		default:
			f.Errorf("round %d: link: %v", i, linked)
		}
	}
}
