package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// dir is a file that is a directory.
type dir struct{ file }

// child is what a name in a directory stands for.
type child struct {
	id   fileID
	st   unix.Statx_t
	attr nfs3.Fattr
}

// child looks a name up, which is neither "." nor "..". Links are not followed, and what is
// mounted on the name is nfs3.ErrAcces.
func (d dir) child(name string) (child, error) {
	var ch child
	var cname [MaxName + 1]byte
	if len(name) >= len(cname) {
		return ch, nfs3.ErrNameTooLong
	}
	copy(cname[:], name)
	err := statName(d.path.fd, &cname[0], &ch.st)
	if err == nil && !d.t.host.own(&ch.st) {
		d.t.host.foreign(d.path.fd, name, &ch.st)
		return ch, nfs3.ErrAcces
	}
	if err == nil {
		ch.id, err = d.t.files.identify(d.path.fd, &cname[0], &ch.st)
	}
	if err != nil {
		return ch, d.t.host.status("lookup", err)
	}
	ch.attr = d.t.fattr(&ch.st)
	return ch, nil
}

// permOf returns what decides what c may do with a child.
func (d dir) permOf(c *vfs.Cred, name string, a *nfs3.Fattr) vfs.Perm {
	return d.t.host.perm(c, a, func() (acl, error) {
		return readACL(unix.Lgetxattr, procPath(d.path.fd)+"/"+name, aclAccess)
	})
}

// object returns a child as a client sees it, which may come back with its handle.
func (d dir) object(name string, ch *child) vfs.Object {
	d.t.files.seen(&ch.id, d.n, name)
	d.t.files.keep()
	return vfs.Object{File: d.t.sealer.handle(&ch.id), Attr: nfs3.PostOpAttrOf(ch.attr)}
}

// parent returns the directory that a directory is in.
func (d dir) parent() (dir, error) {
	if d.n == d.t.root {
		f, err := d.t.holdNode(d.t.root)
		return dir{f}, err
	}
	return d.t.files.parent(d)
}

// reserved reports whether a name is not one of a file in the directory.
func reserved(name string) bool { return name == "." || name == ".." }
