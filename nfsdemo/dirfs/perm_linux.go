package dirfs

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// perm returns what decides what c may do with a file. Unless he is the owner, he has the rights
// that an access control list gives him: in a mode, as those of the group and of others. As on the
// host, the list does not count when the mode, which shows the list's mask there, gives the group
// nothing.
func (h *host) perm(c *vfs.Cred, a *nfs3.Fattr, list func() (acl, error)) vfs.Perm {
	p := vfs.PermOf(a)
	if p.Owns(c) || p.Mode&0o070 == 0 || p.Type == nfs3.TypeLnk {
		return p
	}
	l, err := list()
	switch {
	case err != nil:
		h.logger.Error("an access control list cannot be read: nothing is permitted",
			"path", h.path, "err", err)
		p.Mode &^= 0o077
	case l != nil:
		r := l.rights(c, p.GID)
		p.Mode = p.Mode&^0o077 | r<<3 | r
	}
	return p
}
