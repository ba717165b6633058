package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Rename gives a file another name.
func (fs *FS) Rename(
	_ context.Context, c *vfs.Cred, from nfs3.FH, fromName string, to nfs3.FH, toName string,
) (fromWcc, toWcc nfs3.WccData, err error) {
	gone, err := fs.rename(c, &from, fromName, &to, toName, &fromWcc, &toWcc)
	if gone != nil {
		gone.discard()
	}
	return fromWcc, toWcc, err
}

// rename is Rename. It returns the replaced node if that is gone.
func (fs *FS) rename(
	c *vfs.Cred, from *nfs3.FH, fromName string, to *nfs3.FH, toName string,
	fromWcc, toWcc *nfs3.WccData,
) (gone *node, err error) {
	fs.tree.Lock()
	defer fs.tree.Unlock()
	m := move{fromName: fromName, toName: toName}
	if m.from, err = fs.findDir(from); err != nil {
		return nil, err
	}
	if m.to, err = fs.findDir(to); err != nil {
		return nil, err
	}
	m.node, m.old = m.from.child(fromName), m.to.child(toName)
	defer lockNodes(m.from, m.to, m.node, m.old)()
	fromWcc.Before, toWcc.Before = m.from.pre(), m.to.pre()
	if err = m.check(c); err == nil && m.node != m.old {
		gone, err = m.do()
	}
	fromWcc.After, toWcc.After = m.from.post(), m.to.post()
	return gone, err
}

// move is a RENAME. The tree and the nodes are locked.
type move struct {
	from, to         *node // directories
	fromName, toName string
	node             *node // the file that moves
	old              *node // the file that it replaces, or nil
}

// check checks whether c may rename the file.
func (m *move) check(c *vfs.Cred) error {
	if err := m.from.mayFind(c, m.fromName); err != nil {
		return err
	}
	if err := m.to.mayFind(c, m.toName); err != nil {
		return err
	}
	for _, name := range []string{m.fromName, m.toName} {
		if name == "." || name == ".." {
			return nfs3.ErrInval
		}
	}
	switch {
	case m.node == nil:
		return nfs3.ErrNoEnt
	case m.from != m.to && m.node.holds(m.to):
		return nfs3.ErrInval
	case m.node == m.old:
		return nil
	}
	if err := m.from.perm().CheckRemove(c, m.node.perm()); err != nil {
		return err
	}
	if err := m.checkTarget(c); err != nil {
		return err
	}
	if m.node.kind == nfs3.TypeDir && m.from != m.to && !m.node.perm().Can(c, vfs.MayWrite) {
		return nfs3.ErrAcces // its ".." changes
	}
	if m.old != nil && len(m.old.byName) > 0 {
		return nfs3.ErrNotEmpty
	}
	return nil
}

// checkTarget checks whether the file may get the new name.
func (m *move) checkTarget(c *vfs.Cred) error {
	if m.old == nil {
		return m.to.perm().CheckAddName(c)
	}
	if err := m.to.perm().CheckRemove(c, m.old.perm()); err != nil {
		return err
	}
	isDir, wasDir := m.node.kind == nfs3.TypeDir, m.old.kind == nfs3.TypeDir
	switch {
	case isDir && !wasDir:
		return nfs3.ErrNotDir
	case wasDir && !isDir:
		return nfs3.ErrIsDir
	}
	return nil
}

// holds reports whether d is n or below it.
func (n *node) holds(d *node) bool {
	for d != n && d != d.parent {
		d = d.parent
	}
	return d == n
}

// do renames the file. It returns the replaced node if that is gone.
func (m *move) do() (gone *node, err error) {
	// The name of a replaced file is charged already.
	more := int64(len(m.toName) - len(m.fromName))
	if m.old != nil {
		more = -chargeOf(m.fromName)
	}
	if !m.node.fs.charge(more) {
		return nil, nfs3.ErrNoSpc
	}
	switch {
	case m.old != nil:
		gone = m.to.unlink(m.old)
		m.from.leave(m.fromName)
		m.to.byName[m.toName].node = m.node // keep the entry and its cookie
	case m.from == m.to:
		m.to.rename(m.fromName, m.toName)
	default:
		m.from.leave(m.fromName)
		m.to.enter(m.toName, m.node)
	}
	if m.node.kind == nfs3.TypeDir {
		m.from.nlink--
		m.to.nlink++
		m.node.parent = m.to
	}
	m.node.changed()
	m.from.modified()
	if m.to != m.from {
		m.to.modified()
	}
	return gone, nil
}
