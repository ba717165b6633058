package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Create makes a regular file.
func (fs *FS) Create(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, how *nfs3.CreateHow) (vfs.Object, nfs3.WccData, error) {
	set := how.Set
	if how.Mode == nfs3.Exclusive {
		// The attributes follow with a SETATTR (RFC 1813 section 3.3.8).
		set = nfs3.Sattr{Mode: nfs3.Set32{Set: true}}
	}
	return fs.enter(c, &dir, name, nfs3.TypeReg, &set, func(n *node, made bool) error {
		switch {
		case made:
			n.excl, n.verf = how.Mode == nfs3.Exclusive, how.Verf
			return nil
		case how.Mode == nfs3.Exclusive && n.excl && n.verf == how.Verf:
			return nil // a call repeated
		case how.Mode != nfs3.Unchecked || n.kind != nfs3.TypeReg:
			return nfs3.ErrExist
		case !set.Size.Set:
			return nil
		}
		// Of an existing file the size is set and nothing else, as open(2) with O_TRUNC
		// would.
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.change(c, &nfs3.Sattr{Size: set.Size})
	})
}

// Mkdir makes a directory.
func (fs *FS) Mkdir(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, set *nfs3.Sattr) (vfs.Object, nfs3.WccData, error) {
	return fs.enter(c, &dir, name, nfs3.TypeDir, set, func(_ *node, made bool) error {
		if !made {
			return nfs3.ErrExist
		}
		return nil
	})
}

// enter finds name in a directory or makes a node of that name; is decides whether the
// result is what was asked for.
func (fs *FS) enter(c *vfs.Cred, dir *nfs3.FH, name string, kind nfs3.FileType, set *nfs3.Sattr, is func(n *node, made bool) error) (vfs.Object, nfs3.WccData, error) {
	fs.tree.Lock()
	defer fs.tree.Unlock()
	d, err := fs.findDir(dir)
	if err != nil {
		return vfs.Object{}, nfs3.WccData{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	wcc := nfs3.WccData{Before: d.pre()}
	n, err := d.enterLocked(c, name, kind, set, is)
	wcc.After = d.post()
	if err != nil {
		return vfs.Object{}, wcc, err
	}
	return vfs.Object{File: n.handle, Attr: n.attrs()}, wcc, nil
}

// enterLocked is enter with fs.tree and d.mu held.
func (d *node) enterLocked(c *vfs.Cred, name string, kind nfs3.FileType, set *nfs3.Sattr, is func(n *node, made bool) error) (*node, error) {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return nil, err
	}
	if !d.perm().Can(c, vfs.MayExec) {
		return nil, nfs3.ErrAcces
	}
	if name == "." || name == ".." {
		return nil, nfs3.ErrExist // and d.mu is held
	}
	if n := d.lookup(name); n != nil {
		return n, is(n, false)
	}
	if !d.perm().Can(c, vfs.MayWrite) {
		return nil, nfs3.ErrAcces
	}
	n, err := d.newChild(c, kind, set)
	if err != nil {
		return nil, err
	}
	if err := is(n, true); err != nil {
		return nil, err
	}
	if !d.fs.charge(chargeOf(name)) {
		return nil, nfs3.ErrNoSpc
	}
	d.fs.nodes[n.id] = n
	d.dir.enter(name, n)
	if kind == nfs3.TypeDir {
		d.nlink++
	}
	d.modified()
	return n, nil
}

// newChild returns a node as c would make it in d, whose lock is held.
func (d *node) newChild(c *vfs.Cred, kind nfs3.FileType, set *nfs3.Sattr) (*node, error) {
	mode := uint32(0o644)
	if kind == nfs3.TypeDir {
		mode = 0o755
	}
	n := d.fs.newNode(kind, mode)
	n.parent = d
	n.uid, n.gid = c.UID, c.GID
	// A directory with the set-group-id bit hands down its group, whatever the groups
	// of the caller, and the bit to directories.
	inherit := d.mode & nfs3.ModeSetGID
	if inherit != 0 {
		n.gid = d.gid
	}
	want := *set
	if kind == nfs3.TypeDir {
		want.Size = nfs3.Set64{}
	}
	if err := n.change(c, &want); err != nil {
		return nil, err
	}
	if kind == nfs3.TypeDir {
		n.mode |= inherit
	}
	return n, nil
}
