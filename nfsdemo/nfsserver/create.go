package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func create(ctx context.Context, q *request, a *nfs3.CreateArgs, r *nfs3.CreateRes) error {
	fs, err := q.change(ctx, &a.Where.Dir, &r.Dir)
	if err != nil {
		return err
	}
	o, wcc, err := fs.Create(ctx, &q.cred, a.Where.Dir, a.Where.Name, &a.How)
	made(r, o, wcc)
	return err
}

func mkdir(ctx context.Context, q *request, a *nfs3.MkdirArgs, r *nfs3.CreateRes) error {
	fs, err := q.change(ctx, &a.Where.Dir, &r.Dir)
	if err != nil {
		return err
	}
	o, wcc, err := fs.Mkdir(ctx, &q.cred, a.Where.Dir, a.Where.Name, &a.Set)
	made(r, o, wcc)
	return err
}

func mknod(ctx context.Context, q *request, a *nfs3.MknodArgs, r *nfs3.CreateRes) error {
	fs, err := q.change(ctx, &a.Where.Dir, &r.Dir)
	if err != nil {
		return err
	}
	o, wcc, err := fs.Mknod(ctx, &q.cred, a.Where.Dir, a.Where.Name, a.Type, a.Rdev, &a.Set)
	made(r, o, wcc)
	return err
}

func made(r *nfs3.CreateRes, o vfs.Object, wcc nfs3.WccData) {
	r.File = nfs3.PostOpFH{Present: true, FH: o.File}
	r.Attr, r.Dir = o.Attr, wcc
}
