package memfs

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// blank describes a new node.
type blank struct {
	kind nfs3.FileType
	set  nfs3.Sattr
	rdev nfs3.Specdata
	path string
	err  error // why it cannot be made
}

// enter finds a name in a directory, or makes a node with that name. is decides whether the result
// is what was asked for.
func (fs *FS) enter(
	c *vfs.Cred, dir *nfs3.FH, name string, b *blank, is func(n *node, made bool) error,
) (vfs.Object, nfs3.WccData, error) {
	fs.tree.Lock()
	defer fs.tree.Unlock()
	d, err := fs.findDir(dir)
	if err != nil {
		return vfs.Object{}, nfs3.WccData{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	wcc := nfs3.WccData{Before: d.pre()}
	n, err := d.enterLocked(c, name, b, is)
	wcc.After = d.post()
	if err != nil {
		return vfs.Object{}, wcc, err
	}
	return vfs.Object{File: n.handle, Attr: n.attrs()}, wcc, nil
}

// enterLocked is enter with fs.tree and d.mu held.
func (d *node) enterLocked(c *vfs.Cred, name string, b *blank, is func(n *node, made bool) error) (*node, error) {
	if err := d.mayFind(c, name); err != nil {
		return nil, err
	}
	if b.err != nil {
		return nil, b.err
	}
	if name == "." || name == ".." {
		return nil, nfs3.ErrExist // and d.mu is held
	}
	if n := d.child(name); n != nil {
		return n, is(n, false)
	}
	if err := d.perm().CheckAddName(c); err != nil {
		return nil, err
	}
	n, err := d.newChild(c, b)
	if err != nil {
		return nil, err
	}
	if err := is(n, true); err != nil {
		return nil, err
	}
	if !d.fs.charge(nodeCharge + chargeOf(name) + n.held) {
		return nil, nfs3.ErrNoSpc
	}
	d.fs.nodes[n.id] = n
	d.enter(name, n)
	if n.kind == nfs3.TypeDir {
		d.nlink++
	}
	d.modified()
	return n, nil
}

// mayFind checks whether c may look up a name in d, which is locked.
func (d *node) mayFind(c *vfs.Cred, name string) error {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return err
	}
	if !d.perm().Can(c, vfs.MayExec) {
		return nfs3.ErrAcces
	}
	return nil
}

// newChild returns a new node in d, as made by c. d is locked.
func (d *node) newChild(c *vfs.Cred, b *blank) (*node, error) {
	mode := uint32(0o644)
	switch b.kind {
	case nfs3.TypeDir:
		mode = 0o755
	case nfs3.TypeLnk:
		mode = 0o777
	}
	n := d.fs.newNode(b.kind, mode)
	n.uid, n.gid = c.UID, c.GID
	n.rdev = b.rdev
	n.path, n.size, n.held = b.path, uint64(len(b.path)), int64(len(b.path))
	// Files in a set-group-ID directory get its group, whatever the caller's groups are.
	// Directories get the bit too.
	if d.mode&nfs3.ModeSetGID != 0 {
		n.gid = d.gid
	}
	set := b.set
	if b.kind != nfs3.TypeReg {
		set.Size = nfs3.Set64{}
	}
	if err := n.change(c, &set); err != nil {
		return nil, err
	}
	if set.Mode.Set && b.kind != nfs3.TypeLnk {
		n.mode = set.Mode.To & nfs3.ModeMask
	}
	if b.kind != nfs3.TypeLnk {
		n.mode = n.perm().ModeMade(c, &set, d.mode)
	}
	if b.kind == nfs3.TypeDir {
		n.parent = d
	}
	return n, nil
}
