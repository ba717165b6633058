package iofs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Cookies of "." and "..". The cookie of any other entry is its number plus an offset, so it never
// changes.
const (
	cookieDot    = 1
	cookieDotDot = 2
	cookieBase   = 2
)

// ReadDir yields the entries in the order in which they were first seen.
func (r *reader) ReadDir(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, cookie uint64, verf nfs3.Verifier, plus bool,
	yield func(*nfs3.Entry) bool,
) (vfs.DirResult, error) {
	d, err := r.find(&dir)
	if err != nil {
		return vfs.DirResult{}, err
	}
	if d.attr.Type != nfs3.TypeDir {
		return vfs.DirResult{}, nfs3.ErrNotDir
	}
	res := vfs.DirResult{Attr: nfs3.PostOpAttrOf(d.attr)}
	binary.BigEndian.PutUint64(res.Verf[:], r.id)
	p := vfs.PermOf(&d.attr)
	if !p.Can(c, vfs.MayRead) {
		return res, nfs3.ErrAcces
	}
	if err := vfs.CheckCookie(cookie, verf, res.Verf); err != nil {
		return res, err
	}
	list, err := fs.ReadDir(r.files, d.path)
	if err != nil {
		return res, statusOf("readdir", err)
	}
	entries := []entry{{".", d.node, cookieDot}, {"..", d.up(), cookieDotDot}}
	for _, e := range list {
		n := r.child(d.node, e.Name())
		entries = append(entries, entry{e.Name(), n, cookieBase + n.number})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.cookie, b.cookie) })
	plus = plus && p.Can(c, vfs.MayExec)
	for _, e := range entries {
		if e.cookie <= cookie {
			continue
		}
		out := nfs3.Entry{FileID: e.number, Name: e.name, Cookie: e.cookie}
		if plus {
			a, err := r.stat(e.node)
			if errors.Is(err, nfs3.ErrNoEnt) {
				continue // removed since
			}
			if err == nil {
				out.Attr = nfs3.PostOpAttrOf(a)
			}
			out.File = nfs3.PostOpFH{Present: true, FH: e.handle(r.id)}
		}
		if !yield(&out) {
			return res, nil
		}
	}
	res.EOF = true
	return res, nil
}

// entry is a name in a directory.
type entry struct {
	name string
	*node
	cookie uint64
}
