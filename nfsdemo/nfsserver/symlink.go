package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxLink is the longest path in a symbolic link, in bytes: PATH_MAX of Linux. The protocol has no
// limit, and the path is fetched before the file system sees it.
const maxLink = 4096

func symlink(ctx context.Context, q *request, a *nfs3.SymlinkArgs, r *nfs3.CreateRes) error {
	fs, err := q.change(ctx, &a.Where.Dir, &r.Dir)
	if err != nil {
		return err
	}
	if a.Bulk.Len() > maxLink {
		return unchanged(ctx, fs, &a.Where.Dir, &r.Dir, nfs3.ErrNameTooLong)
	}
	path, err := a.Bulk.Bytes(ctx)
	if err != nil {
		return err
	}
	o, wcc, err := fs.Symlink(ctx, &q.cred, a.Where.Dir, a.Where.Name, string(path), &a.Set)
	made(r, o, wcc)
	return err
}

func readLink(ctx context.Context, q *request, a *nfs3.ReadLinkArgs, r *nfs3.ReadLinkRes) error {
	fs, err := q.fs(&a.File)
	if err == nil {
		r.Path, r.Attr, err = fs.ReadLink(ctx, &q.cred, a.File)
	}
	return err
}
