package vfstest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// testSticky: in a sticky directory only the owners of the directory or the file may remove names,
// even if all may write.
func testSticky(f *fixture) {
	const perm = nfs3.ErrPerm
	d := f.dir("dir", 0o1777)
	f.set(d, nfs3.Sattr{UID: nfs3.Set32{Set: true, To: carol.UID}, Mode: nfs3.Set32{Set: true, To: 0o1777}})
	open := f.dir("open", 0o777)
	for what, do := range map[string]func(c *vfs.Cred, name string) error{
		"remove": func(c *vfs.Cred, name string) error {
			f.fileOf(alice, d, name, 0o666)
			_, err := f.fs.Remove(f.ctx, c, d, name)
			return err
		},
		"rmdir": func(c *vfs.Cred, name string) error {
			f.mkdir(alice, d, name, 0o777)
			_, err := f.fs.Rmdir(f.ctx, c, d, name)
			return err
		},
		"rename": func(c *vfs.Cred, name string) error {
			f.fileOf(alice, d, name, 0o666)
			_, _, err := f.fs.Rename(f.ctx, c, d, name, d, name+" renamed")
			return err
		},
		"rename away": func(c *vfs.Cred, name string) error {
			f.fileOf(alice, d, name, 0o666)
			_, _, err := f.fs.Rename(f.ctx, c, d, name, open, name)
			return err
		},
		"rename over": func(c *vfs.Cred, name string) error {
			f.fileOf(c, open, name+" new", 0o666)
			f.fileOf(alice, d, name, 0o666)
			_, _, err := f.fs.Rename(f.ctx, c, open, name+" new", d, name)
			return err
		},
	} {
		for c, want := range map[*vfs.Cred]nfs3.Status{root: nfs3.OK, alice: nfs3.OK, bob: perm, carol: nfs3.OK} {
			f.want(fmt.Sprintf("%s by %s", what, names[c]), do(c, what+" "+names[c]), want)
		}
	}
	// Whoever may write can enter names, of the files of others too.
	h := f.fileOf(alice, d, "alice's", 0o644)
	_, _, err := f.fs.Link(f.ctx, bob, h, d, "bob's link")
	f.want("link by bob", err, nfs3.OK)
	f.fileOf(bob, open, "bob's", 0o644)
	_, _, err = f.fs.Rename(f.ctx, bob, open, "bob's", d, "bob's")
	f.want("rename into it by bob", err, nfs3.OK)
}
