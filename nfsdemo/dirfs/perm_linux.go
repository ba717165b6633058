package dirfs

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// perm returns the Perm of a file for c. If c is not the owner, the mode has the rights that the
// access control list gives c, as those of the group and of others. As on the host, the list is
// ignored if its mask, which the group bits of the mode show, is empty.
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
