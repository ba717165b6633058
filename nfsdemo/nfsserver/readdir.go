package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func readDir(ctx context.Context, q *request, a *nfs3.ReadDirArgs, r *nfs3.ReadDirRes) error {
	return q.list(ctx, &listing{
		dir: a.Dir, cookie: a.Cookie, verf: a.Verf,
		room: q.room(a.Count), size: (*nfs3.Entry).NameLen,
	}, &r.ReadDirPlusRes)
}

// readDirPlus treats dircount as a hint of how much work the client wants done (RFC 1813 section
// 3.3.17): it returns at least one entry, even if that is larger.
func readDirPlus(
	ctx context.Context, q *request, a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes,
) error {
	names := int(min(a.DirCount, maxDir))
	return q.list(ctx, &listing{
		dir: a.Dir, cookie: a.Cookie, verf: a.Verf, plus: true,
		room: q.room(a.MaxCount), size: (*nfs3.Entry).Len,
		enough: func(e *nfs3.Entry) bool {
			names -= e.DirLen()
			return names < 0
		},
	}, r)
}

// room returns how many bytes of entries fit results of count bytes. The server may return fewer
// entries than the client has room for.
func (q *request) room(count uint32) int {
	return int(min(count, q.server.maxRead, maxDir)) - nfs3.ReadDirPlusResMin
}

// listing has the parameters of READDIR or READDIRPLUS.
type listing struct {
	dir    nfs3.FH
	cookie uint64
	verf   nfs3.Verifier
	plus   bool
	room   int                    // bytes left for entries
	size   func(*nfs3.Entry) int  // bytes of an entry in the results
	enough func(*nfs3.Entry) bool // may be nil; true: this entry and those after it are not wanted
}

func (q *request) list(ctx context.Context, l *listing, r *nfs3.ReadDirPlusRes) error {
	fs, err := q.fs(&l.dir)
	if err != nil {
		return err
	}
	full := false
	dir, err := fs.ReadDir(ctx, &q.cred, l.dir, l.cookie, l.verf, l.plus, func(e *nfs3.Entry) bool {
		l.room -= l.size(e)
		full = l.room < 0 || l.enough != nil && l.enough(e) && len(q.entries) > 0
		if !full {
			q.entries = append(q.entries, *e)
		}
		return !full
	})
	if err == nil && len(q.entries) == 0 && (full || l.room < 0) {
		err = nfs3.ErrTooSmall
	}
	r.Dir, r.Verf, r.Entries, r.EOF = dir.Attr, dir.Verf, q.entries, dir.EOF
	return err
}
