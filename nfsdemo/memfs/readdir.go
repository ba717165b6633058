package memfs

import (
	"context"
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Lookup finds a name in a directory.
func (fs *FS) Lookup(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string) (vfs.Object, nfs3.PostOpAttr, error) {
	fs.tree.RLock()
	defer fs.tree.RUnlock()
	d, err := fs.findDir(&dir)
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	d.mu.RLock()
	attr, search := d.post(), d.perm().Can(c, vfs.MayExec)
	d.mu.RUnlock()
	if err := vfs.CheckName(name, MaxName); err != nil {
		return vfs.Object{}, attr, err
	}
	if !search {
		return vfs.Object{}, attr, nfs3.ErrAcces
	}
	n := d.lookup(name)
	if n == nil {
		return vfs.Object{}, attr, nfs3.ErrNoEnt
	}
	return vfs.Object{File: n.handle, Attr: n.attrs()}, attr, nil
}

// lookup returns the node with a name, or nil. fs.tree is held.
func (n *node) lookup(name string) *node {
	switch name {
	case ".":
		return n
	case "..":
		return n.parent
	}
	if e := n.byName[name]; e != nil {
		return e.node
	}
	return nil
}

// ReadDir yields the entries of a directory in the order in which they were added.
func (fs *FS) ReadDir(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, cookie uint64, verf nfs3.Verifier, plus bool,
	yield func(*nfs3.Entry) bool,
) (vfs.DirResult, error) {
	fs.tree.RLock()
	defer fs.tree.RUnlock()
	var r vfs.DirResult
	d, err := fs.findDir(&dir)
	if err != nil {
		return r, err
	}
	d.mu.RLock()
	ok := d.perm().Can(c, vfs.MayRead)
	if ok {
		d.accessed()
	}
	r.Attr = d.post()
	d.mu.RUnlock()
	if !ok {
		return r, nfs3.ErrAcces
	}
	// Cookies are valid as long as the directory exists.
	binary.BigEndian.PutUint64(r.Verf[:], fs.id)
	if err := vfs.CheckCookie(cookie, verf, r.Verf); err != nil {
		return r, err
	}

	var e nfs3.Entry
	give := func(name string, cookie uint64, n *node) bool {
		e = nfs3.Entry{FileID: n.id, Name: name, Cookie: cookie}
		if plus {
			e.Attr, e.File = n.attrs(), nfs3.PostOpFH{Present: true, FH: n.handle}
		}
		return yield(&e)
	}
	if cookie < dotCookie && !give(".", dotCookie, d) {
		return r, nil
	}
	if cookie < dotDotCookie && !give("..", dotDotCookie, d.parent) {
		return r, nil
	}
	for ent := range d.list.behind(cookie) {
		if !give(ent.name, ent.cookie, ent.node) {
			return r, nil
		}
	}
	r.EOF = true
	return r, nil
}
