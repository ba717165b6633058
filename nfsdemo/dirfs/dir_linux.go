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
	st   unix.Statx_t
	attr nfs3.Fattr
}

// child looks a name up, which is neither "." nor "..". Links are not followed, and what is
// mounted on the name is nfs3.ErrAcces.
func (d dir) child(name string) (child, error) {
	var ch child
	if err := statIn(d.path.fd, name, &ch.st); err != nil {
		return ch, d.t.host.status("lookup", err)
	}
	if !d.t.host.own(&ch.st) {
		d.t.host.foreign(d.path.fd, name, &ch.st)
		return ch, nfs3.ErrAcces
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

// node returns the node of a child.
func (d dir) node(name string, st *unix.Statx_t) *node {
	return d.t.table.intern(keyOf(st), hint{d.n.key, name})
}

// object returns a child as a client sees it, which may come back with its handle.
func (d dir) object(name string, ch *child) vfs.Object {
	n := d.node(name, &ch.st)
	d.t.table.keep()
	return vfs.Object{File: d.t.table.handle(n), Attr: nfs3.PostOpAttrOf(ch.attr)}
}

// parent returns the directory that a directory is in. The host is not asked for "..", which
// might lead out of the root meanwhile: a directory that holds the name is.
func (d dir) parent() (dir, error) {
	t := d.t
	if d.n == t.root {
		f, err := t.holdNode(t.root)
		return dir{f}, err
	}
	for tries := 0; ; tries++ {
		for _, in := range t.table.names(d.n) {
			n, _ := t.table.get(in.parent)
			if n == nil {
				continue
			}
			f, err := t.holdNode(n)
			if err != nil {
				continue
			}
			p := dir{f}
			if ch, err := p.child(in.name); err == nil && keyOf(&ch.st) == d.n.key {
				return p, nil
			}
			p.release()
		}
		if tries == 1 {
			return dir{}, nfs3.ErrStale
		}
		// The host has moved it.
		if err := t.scanner.find(t, d.n.key); err != nil {
			return dir{}, t.host.status("lookup", err)
		}
	}
}

// unlinked notes that a child does not have a name any more.
func (d dir) unlinked(name string, ch *child) {
	n, _ := d.t.table.get(keyOf(&ch.st))
	switch {
	case n == nil:
	case ch.attr.Nlink <= 1 || ch.attr.Type == nfs3.TypeDir:
		d.t.forget(n)
	default:
		d.t.table.leave(n, hint{d.n.key, name})
	}
}

// reserved reports whether a name is not one of a file in the directory.
func reserved(name string) bool { return name == "." || name == ".." }
