package vfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ReadOnly makes a file system that cannot be written from a Reader. Calls that would change
// something return nfs3.ErrROFS, with the present attributes of the file or directory. If the
// handle is invalid, they return that error instead.
type ReadOnly struct{ Reader }

var _ FS = ReadOnly{}

// same returns WccData for a file that was not changed, and nfs3.ErrROFS.
func (r ReadOnly) same(ctx context.Context, h nfs3.FH) (nfs3.WccData, error) {
	a, err := r.GetAttr(ctx, h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	return nfs3.WccData{Before: a.Pre(), After: nfs3.PostOpAttrOf(a)}, nfs3.ErrROFS
}

// SetAttr returns nfs3.ErrROFS.
func (r ReadOnly) SetAttr(
	ctx context.Context, _ *Cred, h nfs3.FH, _ *nfs3.Sattr, _ *nfs3.Time,
) (nfs3.WccData, error) {
	return r.same(ctx, h)
}

// Write returns nfs3.ErrROFS. It does not fetch the data.
func (r ReadOnly) Write(
	ctx context.Context, _ *Cred, h nfs3.FH, _ uint64, _ xdr.Bulk, how nfs3.StableHow,
) (WriteResult, error) {
	wcc, err := r.same(ctx, h)
	return WriteResult{Wcc: wcc, Committed: how}, err
}

// Commit succeeds, since there is nothing to commit.
func (r ReadOnly) Commit(
	ctx context.Context, _ *Cred, h nfs3.FH, _ uint64, _ uint32,
) (nfs3.WccData, error) {
	wcc, err := r.same(ctx, h)
	switch {
	case err != nfs3.ErrROFS:
		return wcc, err
	case wcc.After.Attr.Type == nfs3.TypeDir:
		return wcc, nfs3.ErrIsDir
	case wcc.After.Attr.Type != nfs3.TypeReg:
		return wcc, nfs3.ErrInval
	}
	return wcc, nil
}

// Create returns nfs3.ErrROFS.
func (r ReadOnly) Create(
	ctx context.Context, _ *Cred, dir nfs3.FH, _ string, _ *nfs3.CreateHow,
) (Object, nfs3.WccData, error) {
	wcc, err := r.same(ctx, dir)
	return Object{}, wcc, err
}

// Mkdir returns nfs3.ErrROFS.
func (r ReadOnly) Mkdir(
	ctx context.Context, _ *Cred, dir nfs3.FH, _ string, _ *nfs3.Sattr,
) (Object, nfs3.WccData, error) {
	wcc, err := r.same(ctx, dir)
	return Object{}, wcc, err
}

// Symlink returns nfs3.ErrROFS.
func (r ReadOnly) Symlink(
	ctx context.Context, _ *Cred, dir nfs3.FH, _, _ string, _ *nfs3.Sattr,
) (Object, nfs3.WccData, error) {
	wcc, err := r.same(ctx, dir)
	return Object{}, wcc, err
}

// Mknod returns nfs3.ErrROFS.
func (r ReadOnly) Mknod(
	ctx context.Context, _ *Cred, dir nfs3.FH, _ string, _ nfs3.FileType, _ nfs3.Specdata,
	_ *nfs3.Sattr,
) (Object, nfs3.WccData, error) {
	wcc, err := r.same(ctx, dir)
	return Object{}, wcc, err
}

// Remove returns nfs3.ErrROFS.
func (r ReadOnly) Remove(
	ctx context.Context, _ *Cred, dir nfs3.FH, _ string,
) (nfs3.WccData, error) {
	return r.same(ctx, dir)
}

// Rmdir returns nfs3.ErrROFS.
func (r ReadOnly) Rmdir(ctx context.Context, _ *Cred, dir nfs3.FH, _ string) (nfs3.WccData, error) {
	return r.same(ctx, dir)
}

// Rename returns nfs3.ErrROFS.
func (r ReadOnly) Rename(
	ctx context.Context, _ *Cred, from nfs3.FH, _ string, to nfs3.FH, _ string,
) (fromWcc, toWcc nfs3.WccData, err error) {
	if fromWcc, err = r.same(ctx, from); err != nfs3.ErrROFS {
		return fromWcc, toWcc, err
	}
	toWcc, err = r.same(ctx, to)
	return fromWcc, toWcc, err
}

// Link returns nfs3.ErrROFS.
func (r ReadOnly) Link(
	ctx context.Context, _ *Cred, h, dir nfs3.FH, _ string,
) (nfs3.PostOpAttr, nfs3.WccData, error) {
	file, err := r.same(ctx, h)
	if err != nfs3.ErrROFS {
		return nfs3.PostOpAttr{}, nfs3.WccData{}, err
	}
	wcc, err := r.same(ctx, dir)
	return file.After, wcc, err
}
