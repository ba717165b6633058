package dirfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Lookup finds a name in a directory.
func (fs *FS) Lookup(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string,
) (vfs.Object, nfs3.PostOpAttr, error) {
	d, err := fs.tree.holdDir(&dir)
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	defer d.release()
	d.n.mu.RLock()
	defer d.n.mu.RUnlock()
	a, err := d.attr()
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	o, err := d.lookup(c, &a, name)
	return o, nfs3.PostOpAttrOf(a), err
}

func (d dir) lookup(c *vfs.Cred, a *nfs3.Fattr, name string) (vfs.Object, error) {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return vfs.Object{}, err
	}
	if !d.perm(c, a).Can(c, vfs.MayExec) {
		return vfs.Object{}, nfs3.ErrAcces
	}
	switch name {
	case ".":
		return vfs.Object{File: d.t.handle(d.n), Attr: nfs3.PostOpAttrOf(*a)}, nil
	case "..":
		p, err := d.parent()
		if err != nil {
			return vfs.Object{}, err
		}
		defer p.release()
		return vfs.Object{File: d.t.handle(p.n), Attr: p.post()}, nil
	}
	ch, err := d.child(name)
	if err != nil {
		return vfs.Object{}, err
	}
	return d.object(name, &ch), nil
}
