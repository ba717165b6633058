package nfsfs

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Remove removes the name of a file, or an empty directory.
func (f *FS) Remove(ctx context.Context, name string) error {
	return pathError("remove", name, f.names.fresh(func() error {
		p, err := f.names.parent(ctx, name)
		if err == nil {
			r := remover{names: &f.names}
			err = r.remove(ctx, p)
		}
		return err
	}))
}

// remover removes files.
type remover struct {
	names *resolver
	above map[nfs3.FH]bool // directories that are being emptied
}

// remove removes the name of a file, or an empty directory.
func (r *remover) remove(ctx context.Context, p place) error {
	defer r.names.dirs.changed(p)
	c := r.names.c
	if p.slash {
		return c.Rmdir(ctx, p.dir, p.base)
	}
	err := c.Remove(ctx, p.dir, p.base)
	if dir, _ := r.refusedDir(ctx, p, err); dir {
		return c.Rmdir(ctx, p.dir, p.base)
	}
	return err
}

// refusedDir reports whether a REMOVE has failed because the file is a directory. Servers use
// several statuses for that, such as NFS3ERR_PERM. In doubt it looks the file up and returns its
// node.
func (r *remover) refusedDir(ctx context.Context, p place, err error) (bool, node) {
	if errors.Is(err, nfs3.ErrIsDir) {
		return true, node{}
	}
	var s nfs3.Status
	if !errors.As(err, &s) || s == nfs3.ErrNoEnt || s == nfs3.ErrStale {
		return false, node{}
	}
	n, at := r.names.look(ctx, p)
	if at != nil || !n.isDir() {
		return false, node{}
	}
	return true, n
}
