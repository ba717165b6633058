package memfs

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Permission bits of one class of users.
const (
	mayRead  = 4
	mayWrite = 2
	mayExec  = 1 // search, of a directory
)

// can reports whether the mode gives c all that is wanted; n.mu is held.
func (n *node) can(c *vfs.Cred, want uint32) bool {
	if c.UID == 0 {
		// What nobody may execute is no program, not for the superuser either.
		return want&mayExec == 0 || n.kind == nfs3.TypeDir || n.mode&0o111 != 0
	}
	mode := n.mode
	switch {
	case c.UID == n.uid:
		mode >>= 6
	case c.InGroup(n.gid):
		mode >>= 3
	}
	return mode&want == want
}

// owns reports whether c may do what only the owner may; n.mu is held.
func (n *node) owns(c *vfs.Cred) bool { return c.UID == 0 || c.UID == n.uid }

// mayReadData and mayWriteData are kinder than can. The server does not see files being
// opened: an owner who made a file that not even he may write goes on writing it,
// and who may execute a file must be able to read it (RFC 1813 section 4.4).
// n.mu is held.
func (n *node) mayReadData(c *vfs.Cred) bool {
	return n.owns(c) || n.can(c, mayRead) || n.can(c, mayExec)
}

func (n *node) mayWriteData(c *vfs.Cred) bool { return n.owns(c) || n.can(c, mayWrite) }

// access returns those of the rights in want that c has; n.mu is held.
func (n *node) access(c *vfs.Cred, want nfs3.Access) nfs3.Access {
	var got nfs3.Access
	if n.can(c, mayRead) {
		got |= nfs3.AccessRead
	}
	if n.kind == nfs3.TypeDir {
		exec := n.can(c, mayExec)
		if exec {
			got |= nfs3.AccessLookup
		}
		if exec && n.can(c, mayWrite) {
			got |= nfs3.AccessModify | nfs3.AccessExtend | nfs3.AccessDelete
		}
		return got & want
	}
	if n.can(c, mayWrite) {
		got |= nfs3.AccessModify | nfs3.AccessExtend
	}
	if n.can(c, mayExec) {
		got |= nfs3.AccessExecute
	}
	return got & want
}
