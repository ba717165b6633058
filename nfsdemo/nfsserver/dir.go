package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func lookup(ctx context.Context, q *request, a *nfs3.LookupArgs, r *nfs3.LookupRes) error {
	fs, err := q.fs(&a.What.Dir)
	if err != nil {
		return err
	}
	if e := q.entered; e.above != nil || e.below != nil {
		if crossed, err := q.crossed(ctx, a, r); crossed {
			return err
		}
	}
	o, dir, err := fs.Lookup(ctx, &q.cred, a.What.Dir, a.What.Name)
	r.File, r.Attr, r.Dir = o.File, o.Attr, dir
	return err
}

func remove(ctx context.Context, q *request, a *nfs3.RemoveArgs, r *nfs3.RemoveRes) error {
	fs, err := q.change(ctx, &a.What.Dir, &r.Dir)
	if err == nil {
		r.Dir, err = fs.Remove(ctx, &q.cred, a.What.Dir, a.What.Name)
	}
	return err
}

func rmdir(ctx context.Context, q *request, a *nfs3.RemoveArgs, r *nfs3.RemoveRes) error {
	fs, err := q.change(ctx, &a.What.Dir, &r.Dir)
	if err == nil {
		r.Dir, err = fs.Rmdir(ctx, &q.cred, a.What.Dir, a.What.Name)
	}
	return err
}

func rename(ctx context.Context, q *request, a *nfs3.RenameArgs, r *nfs3.RenameRes) error {
	from, err := q.export(&a.From.Dir)
	if err != nil {
		return err
	}
	to, err := q.export(&a.To.Dir)
	if err != nil {
		return err
	}
	var refuse error
	switch {
	case from != to:
		refuse = nfs3.ErrXDev
	case q.access.ReadOnly:
		refuse = nfs3.ErrROFS
	default:
		r.From, r.To, err = from.FS.Rename(ctx, &q.cred,
			a.From.Dir, a.From.Name, a.To.Dir, a.To.Name)
		return err
	}
	if err := unchanged(ctx, to.FS, &a.To.Dir, &r.To, refuse); err != refuse {
		return err
	}
	return unchanged(ctx, from.FS, &a.From.Dir, &r.From, refuse)
}

func link(ctx context.Context, q *request, a *nfs3.LinkArgs, r *nfs3.LinkRes) error {
	file, err := q.export(&a.File)
	if err != nil {
		return err
	}
	dir, err := q.export(&a.Where.Dir)
	if err != nil {
		return err
	}
	var refuse error
	switch {
	case file != dir:
		refuse = nfs3.ErrXDev
	case q.access.ReadOnly:
		refuse = nfs3.ErrROFS
	default:
		r.Attr, r.Dir, err = file.FS.Link(ctx, &q.cred, a.File, a.Where.Dir, a.Where.Name)
		return err
	}
	attr, err := file.FS.GetAttr(ctx, a.File)
	if err != nil {
		return err
	}
	r.Attr = nfs3.PostOpAttrOf(attr)
	return unchanged(ctx, dir.FS, &a.Where.Dir, &r.Dir, refuse)
}
