package nfsserver

import (
	"context"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// find returns the export with the longest path that contains dir, and the rest of dir. dir is
// absolute and clean. It returns nil if no export contains it.
func (s *Server) find(dir string) (best *export, rest string) {
	for _, e := range s.table.Load().list {
		below, ok := strings.CutPrefix(dir, strings.TrimSuffix(e.Path, "/"))
		if ok && (below == "" || below[0] == '/') && (best == nil || len(e.Path) > len(best.Path)) {
			best, rest = e, below
		}
	}
	return best, rest
}

// resolve returns the handle of a directory: the root of an export, or a directory below it that
// the caller can reach.
func (q *request) resolve(ctx context.Context, dir string) (nfs3.FH, error) {
	if !path.IsAbs(dir) {
		return nfs3.FH{}, nfs3.ErrNoEnt
	}
	e, rest := q.server.find(path.Clean(dir))
	if e == nil {
		return nfs3.FH{}, nfs3.ErrNoEnt
	}
	if err := q.enter(e, byMount); err != nil {
		return nfs3.FH{}, err
	}
	at := e.FS.Root()
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" {
			continue
		}
		o, _, err := e.FS.Lookup(ctx, &q.cred, at, name)
		if err != nil {
			return nfs3.FH{}, err
		}
		at = o.File
	}
	attr, err := e.FS.GetAttr(ctx, at)
	if err == nil && attr.Type != nfs3.TypeDir {
		err = nfs3.ErrNotDir
	}
	return at, err
}
