package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func (s *Server) read(ctx context.Context, q *request, a *nfs3.ReadArgs, r *nfs3.ReadRes) error {
	fs, err := s.fs(&a.File)
	if err != nil {
		return err
	}
	// A count over the limit is no error: the client gets less (RFC 1813 section 3.3.6).
	n := within(a.Offset, min(a.Count, s.maxRead))
	err = fs.Read(ctx, &q.cred, a.File, a.Offset, int(n), &q.read)
	r.Attr, r.EOF = q.read.Attr, q.read.EOF
	if err != nil {
		if q.read.Release != nil {
			q.read.Release.Release()
		}
		return err
	}
	r.Data, r.Release = q.read.Data, q.read.Release
	for _, p := range r.Data {
		r.Count += uint32(len(p))
	}
	return nil
}

func (s *Server) write(ctx context.Context, q *request, a *nfs3.WriteArgs, r *nfs3.WriteRes) error {
	fs, err := s.fs(&a.File)
	if err != nil {
		return err
	}
	switch {
	case a.Count > s.maxWrite: // FSINFO said so, and the data is not here yet
		err = nfs3.ErrInval
	case within(a.Offset, a.Count) < a.Count:
		err = nfs3.ErrFBig
	}
	if err != nil {
		if attr, err := fs.GetAttr(ctx, a.File); err == nil {
			r.Wcc.After = nfs3.Attrs(attr)
		}
		return err
	}
	w, err := fs.Write(ctx, &q.cred, a.File, a.Offset, a.Bulk, a.Stable)
	r.Wcc, r.Count, r.Committed, r.Verf = w.Wcc, w.Count, w.Committed, s.verf
	return err
}

func (s *Server) commit(ctx context.Context, q *request, a *nfs3.CommitArgs, r *nfs3.CommitRes) error {
	fs, err := s.fs(&a.File)
	if err != nil {
		return err
	}
	r.Verf = s.verf
	r.Wcc, err = fs.Commit(ctx, &q.cred, a.File, a.Offset, a.Count)
	return err
}
