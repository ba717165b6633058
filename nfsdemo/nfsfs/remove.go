package nfsfs

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Remove removes a name of a file or an empty directory.
func (f *FS) Remove(ctx context.Context, name string) error {
	return pathError("remove", name, f.fresh(func() error {
		p, err := f.parent(ctx, name)
		if err == nil {
			err = f.remove(ctx, p)
			f.dirs.changed(p)
		}
		return err
	}))
}

func (f *FS) remove(ctx context.Context, p place) error {
	if p.slash {
		return f.c.Rmdir(ctx, p.dir, p.base)
	}
	err := f.c.Remove(ctx, p.dir, p.base)
	if dir, _ := f.refusedDir(ctx, p, err); dir {
		return f.c.Rmdir(ctx, p.dir, p.base)
	}
	return err
}

// refusedDir reports whether a REMOVE has failed because its object is a directory. Servers have several
// statuses for that, EPERM among them: what is not certain is looked up, and then the node is not empty.
func (f *FS) refusedDir(ctx context.Context, p place, err error) (bool, node) {
	if errors.Is(err, nfs3.ErrIsDir) {
		return true, node{}
	}
	var s nfs3.Status
	if !errors.As(err, &s) || s == nfs3.ErrNoEnt || s == nfs3.ErrStale {
		return false, node{}
	}
	n, at := f.look(ctx, p)
	if at != nil || !n.isDir() {
		return false, node{}
	}
	return true, n
}
