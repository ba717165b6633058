package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func getAttr(ctx context.Context, q *request, a *nfs3.GetAttrArgs, r *nfs3.GetAttrRes) error {
	fs, err := q.rootFS(&a.File)
	if err == nil {
		r.Attr, err = fs.GetAttr(ctx, a.File)
	}
	return err
}

func setAttr(ctx context.Context, q *request, a *nfs3.SetAttrArgs, r *nfs3.SetAttrRes) error {
	fs, err := q.change(ctx, &a.File, &r.Wcc)
	if err != nil {
		return err
	}
	var guard *nfs3.Time
	if a.Guard {
		guard = &a.Ctime
	}
	r.Wcc, err = fs.SetAttr(ctx, &q.cred, a.File, &a.Set, guard)
	return err
}

// changing has the rights that nobody has in a read-only export.
const changing = nfs3.AccessModify | nfs3.AccessExtend | nfs3.AccessDelete

func access(ctx context.Context, q *request, a *nfs3.AccessArgs, r *nfs3.AccessRes) error {
	e, err := q.export(&a.File)
	if err != nil {
		return err
	}
	want := a.Want
	if q.access.ReadOnly {
		want &^= changing
	}
	r.Granted, r.Attr, err = e.FS.Access(ctx, &q.cred, a.File, want)
	return err
}
