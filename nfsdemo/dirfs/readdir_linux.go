package dirfs

import (
	"context"
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// listing is the position at which a directory was last read, so a client that continues there
// needs no search.
type listing struct {
	mu sync.Mutex // guards what follows, and the position of the descriptor
	*lister
	cookie uint64    // of what lister finds next
	ctime  nfs3.Time // of the directory, when it was read
}

// at moves to the entry after a cookie. l.mu is held.
func (l *listing) at(d *desc, cookie uint64, ctime nfs3.Time) error {
	if l.lister == nil {
		l.lister = newLister(d.fd)
	} else if cookie != 0 && cookie == l.cookie && ctime == l.ctime {
		return nil
	}
	l.cookie, l.ctime = cookie, ctime
	if err := l.seek(int64(cookie)); err != nil {
		l.lister = nil
		return nfs3.ErrBadCookie
	}
	return nil
}

// ReadDir yields the entries in the host's order. Cookies are the host's positions.
func (fs *FS) ReadDir(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, cookie uint64, verf nfs3.Verifier, plus bool,
	yield func(*nfs3.Entry) bool,
) (vfs.DirResult, error) {
	var r vfs.DirResult
	d, err := fs.tree.holdDir(&dir)
	if err != nil {
		return r, err
	}
	defer d.release()
	g := giver{dir: d, yield: yield}
	if up, err := d.parent(); err == nil {
		defer up.release()
		g.up = &up
	}
	d.n.mu.RLock()
	defer d.n.mu.RUnlock()
	a, err := d.attr()
	if err != nil {
		return r, err
	}
	r.Attr = nfs3.PostOpAttrOf(a)
	p := d.perm(c, &a)
	if !p.Can(c, vfs.MayRead) {
		return r, nfs3.ErrAcces
	}
	g.plus = plus && p.Can(c, vfs.MayExec)
	// Positions are valid as long as the directory exists.
	binary.BigEndian.PutUint64(r.Verf[:], fs.ID())
	if err := vfs.CheckCookie(cookie, verf, r.Verf); err != nil {
		return r, err
	}
	data, err := d.open(false)
	if err != nil {
		return r, fs.tree.host.status("open", err)
	}
	defer data.release()
	r.EOF, err = g.give(data, cookie, a.Ctime)
	fs.tree.files.keep()
	r.Attr = d.post()
	return r, err
}

// giver turns entries of the host into entries of a reply.
type giver struct {
	dir   dir
	up    *dir // the directory above, if it was found
	plus  bool
	yield func(*nfs3.Entry) bool
	entry nfs3.Entry
	stat  unix.Statx_t // of the entry
}

// give yields the entries after a cookie, and reports whether it reached the end.
func (g *giver) give(d *desc, cookie uint64, ctime nfs3.Time) (bool, error) {
	l := &d.listing
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.at(d, cookie, ctime); err != nil {
		return false, err
	}
	for l.next() {
		if g.fill(l.lister) && !g.yield(&g.entry) {
			l.again()
			return false, nil
		}
		l.cookie = uint64(l.off())
	}
	if l.err == unix.EINVAL {
		return false, nfs3.ErrBadCookie
	}
	return l.err == nil, g.dir.t.host.status("readdir", l.err)
}

// fill makes the entry that l has found. It returns false if the entry is gone.
func (g *giver) fill(l *lister) bool {
	g.entry = nfs3.Entry{FileID: l.ino(), Name: l.name(), Cookie: uint64(l.off())}
	switch g.entry.Name {
	case ".":
		g.is(g.dir.file)
		return true
	case "..":
		// Hide the directory above the root.
		if g.up == nil {
			g.entry.FileID = g.dir.post().Attr.FileID
		} else {
			g.is(g.up.file)
		}
		return true
	}
	if !g.plus {
		return true
	}
	t, st := g.dir.t, &g.stat
	switch err := statName(l.fd, l.cname(), st); {
	case err == unix.ENOENT:
		return false // removed since
	case err != nil || !t.host.own(st):
		return true
	}
	id, err := t.files.identify(l.fd, l.cname(), st)
	if err != nil {
		return err != unix.ENOENT
	}
	t.files.seen(&id, g.dir.n, g.entry.Name)
	g.entry.FileID = st.Ino
	g.entry.Attr = nfs3.PostOpAttrOf(t.fattr(st))
	g.entry.File = nfs3.PostOpFH{Present: true, FH: t.sealer.handle(&id)}
	return true
}

// is makes the entry for a directory that is known.
func (g *giver) is(f file) {
	g.entry.Attr = f.post()
	g.entry.FileID = g.entry.Attr.Attr.FileID
	if !g.plus {
		g.entry.Attr = nfs3.PostOpAttr{}
	} else {
		g.entry.File = nfs3.PostOpFH{Present: true, FH: f.t.handle(f.n)}
	}
}
