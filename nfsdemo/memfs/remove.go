package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Remove removes the name of a file that is not a directory.
func (fs *FS) Remove(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string) (nfs3.WccData, error) {
	return fs.remove(c, &dir, name, func(n *node) error {
		switch {
		case name == ".":
			return nfs3.ErrInval
		case name == ".." || n.kind == nfs3.TypeDir:
			return nfs3.ErrIsDir
		}
		return nil
	})
}

// Rmdir removes an empty directory.
func (fs *FS) Rmdir(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string) (nfs3.WccData, error) {
	return fs.remove(c, &dir, name, func(n *node) error {
		switch {
		case name == ".":
			return nfs3.ErrInval
		case name == "..":
			return nfs3.ErrExist
		case n.kind != nfs3.TypeDir:
			return nfs3.ErrNotDir
		case len(n.byName) > 0:
			return nfs3.ErrNotEmpty
		}
		return nil
	})
}

// remove removes a name from a directory. fits checks the node.
func (fs *FS) remove(c *vfs.Cred, dir *nfs3.FH, name string, fits func(*node) error) (nfs3.WccData, error) {
	wcc, gone, err := fs.removeName(c, dir, name, fits)
	if gone != nil {
		gone.discard()
	}
	return wcc, err
}

// removeName is remove. It returns the node if that is gone.
func (fs *FS) removeName(
	c *vfs.Cred, dir *nfs3.FH, name string, fits func(*node) error,
) (wcc nfs3.WccData, gone *node, err error) {
	fs.tree.Lock()
	defer fs.tree.Unlock()
	d, err := fs.findDir(dir)
	if err != nil {
		return wcc, nil, err
	}
	n := d.lookup(name)
	defer lockNodes(d, n)()
	wcc.Before = d.pre()
	if err = d.mayRemove(c, name, n, fits); err == nil {
		d.leave(name)
		gone = d.unlink(n)
		fs.charge(-chargeOf(name))
		d.modified()
	}
	wcc.After = d.post()
	return wcc, gone, err
}

// mayRemove checks whether c may remove the name of n from d. Both are locked.
func (d *node) mayRemove(c *vfs.Cred, name string, n *node, fits func(*node) error) error {
	if err := d.mayFind(c, name); err != nil {
		return err
	}
	switch {
	case n == nil:
		return nfs3.ErrNoEnt
	case name == "." || name == "..":
		return fits(n)
	}
	if err := d.perm().CheckRemove(c, n.perm()); err != nil {
		return err
	}
	return fits(n)
}

// unlink counts one name less for n, and returns n if it is gone, for discard. The caller removes
// the name from d, or gives it to another node, and returns the charge. fs.tree and both nodes are
// locked.
func (d *node) unlink(n *node) (gone *node) {
	n.changed()
	if n.kind == nfs3.TypeDir {
		d.nlink--
		n.nlink = 0
	} else {
		n.nlink--
	}
	if n.nlink > 0 {
		return nil
	}
	delete(d.fs.nodes, n.id)
	return n
}

// discard releases the data of a node that is gone. Nobody else touches the data any more, so no
// lock is held, however much it is.
func (n *node) discard() {
	for _, p := range n.blocks {
		p.drop()
	}
	n.blocks = nil
	n.fs.charge(-nodeCharge - n.held)
}
