package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// dir is a file that is a directory.
type dir struct{ file }

// child is a file that was found by its name in a directory.
type child struct {
	id   fileID
	st   unix.Statx_t
	attr nfs3.Fattr
}

// child looks up a name other than "." and "..". It does not follow links. If something is mounted
// on the name, it returns nfs3.ErrAcces.
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

// permOf returns the Perm of a child.
func (d dir) permOf(c *vfs.Cred, name string, a *nfs3.Fattr) vfs.Perm {
	return d.t.host.perm(c, a, func() (acl, error) {
		return readACL(unix.Lgetxattr, procPath(d.path.fd)+"/"+name, aclAccess)
	})
}

// object returns a child as a client sees it, and remembers its name, because the client may come
// back with the handle.
func (d dir) object(name string, ch *child) vfs.Object {
	d.t.files.seen(&ch.id, d.n, name)
	d.t.files.keep()
	return vfs.Object{File: d.t.sealer.handle(&ch.id), Attr: nfs3.PostOpAttrOf(ch.attr)}
}

// parent returns the parent of a directory.
func (d dir) parent() (dir, error) {
	if d.n == d.t.root {
		f, err := d.t.holdNode(d.t.root)
		return dir{f}, err
	}
	return d.t.files.parent(d)
}

// reserved reports whether a name is not one of a file in the directory.
func reserved(name string) bool { return name == "." || name == ".." }
