package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func (s *Server) lookup(ctx context.Context, q *request, a *nfs3.LookupArgs, r *nfs3.LookupRes) error {
	fs, err := s.fs(&a.What.Dir)
	if err != nil {
		return err
	}
	o, dir, err := fs.Lookup(ctx, &q.cred, a.What.Dir, a.What.Name)
	r.File, r.Attr, r.Dir = o.File, o.Attr, dir
	return err
}

func (s *Server) create(ctx context.Context, q *request, a *nfs3.CreateArgs, r *nfs3.CreateRes) error {
	fs, err := s.fs(&a.Where.Dir)
	if err != nil {
		return err
	}
	o, wcc, err := fs.Create(ctx, &q.cred, a.Where.Dir, a.Where.Name, &a.How)
	made(r, o, wcc)
	return err
}

func (s *Server) mkdir(ctx context.Context, q *request, a *nfs3.MkdirArgs, r *nfs3.CreateRes) error {
	fs, err := s.fs(&a.Where.Dir)
	if err != nil {
		return err
	}
	o, wcc, err := fs.Mkdir(ctx, &q.cred, a.Where.Dir, a.Where.Name, &a.Set)
	made(r, o, wcc)
	return err
}

func made(r *nfs3.CreateRes, o vfs.Object, wcc nfs3.WccData) {
	r.File = nfs3.PostOpFH{Present: true, FH: o.File}
	r.Attr, r.Dir = o.Attr, wcc
}

func (s *Server) readDirPlus(ctx context.Context, q *request, a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) error {
	fs, err := s.fs(&a.Dir)
	if err != nil {
		return err
	}
	room := int(min(a.MaxCount, s.maxRead)) - nfs3.ReadDirPlusMin
	names := int(min(a.DirCount, s.maxRead))
	full := false
	dir, err := fs.ReadDir(ctx, &q.cred, a.Dir, a.Cookie, a.Verf, true, func(e *nfs3.Entry) bool {
		room -= e.Len()
		names -= e.DirLen()
		// DirCount is a hint (RFC 1813 section 3.3.17): one entry is given in spite of it.
		if full = room < 0 || names < 0 && len(q.entries) > 0; full {
			return false
		}
		q.entries = append(q.entries, *e)
		return true
	})
	if err == nil && len(q.entries) == 0 && (full || room < 0) {
		err = nfs3.ErrTooSmall
	}
	r.Dir, r.Verf, r.Entries, r.EOF = dir.Attr, dir.Verf, q.entries, dir.EOF
	return err
}
