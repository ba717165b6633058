package nfsfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Rename gives a file another name, in the same or another directory. It replaces a file that has
// that name already. Only an empty directory can be replaced, and only by a directory.
func (f *FS) Rename(ctx context.Context, from, to string) error {
	return linkError("rename", from, to, f.names.fresh(func() error {
		return f.rename(ctx, from, to)
	}))
}

func (f *FS) rename(ctx context.Context, from, to string) error {
	a, err := f.names.parent(ctx, from)
	if err != nil {
		return err
	}
	b, err := f.names.parent(ctx, to)
	if err != nil {
		return err
	}
	if a.slash || b.slash {
		n, err := f.names.look(ctx, a)
		if err != nil {
			return err
		}
		if !n.isDir() {
			return failed(nfs3.ProcRename, a.base, nfs3.ErrNotDir)
		}
	}
	err = f.c.Rename(ctx, a.dir, a.base, b.dir, b.base)
	f.names.dirs.changed(a)
	f.names.dirs.changed(b)
	return err
}
