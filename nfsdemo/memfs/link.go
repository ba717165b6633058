package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Link gives a file another name.
func (fs *FS) Link(_ context.Context, c *vfs.Cred, h, dir nfs3.FH, name string) (nfs3.PostOpAttr, nfs3.WccData, error) {
	fs.tree.Lock()
	defer fs.tree.Unlock()
	n, err := fs.find(&h)
	if err != nil {
		return nfs3.PostOpAttr{}, nfs3.WccData{}, err
	}
	d, err := fs.findDir(&dir)
	if err != nil {
		return n.attrs(), nfs3.WccData{}, err
	}
	defer lockNodes(d, n)()
	wcc := nfs3.WccData{Before: d.pre()}
	if err = d.mayLink(c, n, name); err == nil {
		d.enter(name, n)
		d.modified()
		n.nlink++
		n.changed()
	}
	wcc.After = d.post()
	return n.post(), wcc, err
}

// mayLink checks whether c may give n a name in d, and charges for the name. Both are locked.
func (d *node) mayLink(c *vfs.Cred, n *node, name string) error {
	if err := d.mayFind(c, name); err != nil {
		return err
	}
	switch {
	case name == "." || name == ".." || d.child(name) != nil:
		return nfs3.ErrExist
	case n.kind == nfs3.TypeDir:
		return nfs3.ErrIsDir
	}
	if err := d.perm().CheckAddName(c); err != nil {
		return err
	}
	switch {
	case n.nlink >= MaxLinks:
		return nfs3.ErrMLink
	case !d.fs.charge(chargeOf(name)):
		return nfs3.ErrNoSpc
	}
	return nil
}
