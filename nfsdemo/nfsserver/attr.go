package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func (s *Server) getAttr(ctx context.Context, _ *request, a *nfs3.GetAttrArgs, r *nfs3.GetAttrRes) error {
	fs, err := s.fs(&a.File)
	if err == nil {
		r.Attr, err = fs.GetAttr(ctx, a.File)
	}
	return err
}

func (s *Server) setAttr(ctx context.Context, q *request, a *nfs3.SetAttrArgs, r *nfs3.SetAttrRes) error {
	fs, err := s.fs(&a.File)
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

func (s *Server) access(ctx context.Context, q *request, a *nfs3.AccessArgs, r *nfs3.AccessRes) error {
	fs, err := s.fs(&a.File)
	if err == nil {
		r.Granted, r.Attr, err = fs.Access(ctx, &q.cred, a.File, a.Want)
	}
	return err
}
