package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Lookup finds a name in a directory.
func (fs *FS) Lookup(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string) (vfs.Object, nfs3.PostOpAttr, error) {
	d, _, err := fs.holdDir(&dir)
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	defer d.release()
	d.n.mu.RLock()
	defer d.n.mu.RUnlock()
	a, err := fs.attr(d)
	if err != nil {
		return vfs.Object{}, nfs3.PostOpAttr{}, err
	}
	o, err := fs.lookup(c, d, &a, name)
	return o, nfs3.PostOpAttrOf(a), err
}

func (fs *FS) lookup(c *vfs.Cred, d file, a *nfs3.Fattr, name string) (vfs.Object, error) {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return vfs.Object{}, err
	}
	if !fs.perm(c, d, a).Can(c, vfs.MayExec) {
		return vfs.Object{}, nfs3.ErrAcces
	}
	switch name {
	case ".":
		return vfs.Object{File: fs.handle(d.n), Attr: nfs3.PostOpAttrOf(*a)}, nil
	case "..":
		p, err := fs.parent(d)
		if err != nil {
			return vfs.Object{}, err
		}
		defer p.release()
		return vfs.Object{File: fs.handle(p.n), Attr: fs.post(p)}, nil
	}
	ch, err := fs.child(d, name)
	if err != nil {
		return vfs.Object{}, err
	}
	return fs.object(d, name, &ch), nil
}

// parent returns the directory that a directory is in. The host is not asked for "..", which might lead
// out of the root meanwhile: a directory that holds the name is.
func (fs *FS) parent(d file) (file, error) {
	if d.n == fs.root {
		return fs.holdNode(fs.root)
	}
	for tries := 0; ; tries++ {
		for _, in := range fs.table.names(d.n) {
			n, _ := fs.table.get(in.parent)
			if n == nil {
				continue
			}
			p, err := fs.holdNode(n)
			if err != nil {
				continue
			}
			if ch, err := fs.child(p, in.name); err == nil && keyOf(&ch.st) == d.n.key {
				return p, nil
			}
			p.release()
		}
		if tries == 1 {
			return file{}, nfs3.ErrStale
		}
		// The host has moved it.
		if err := fs.scanner.find(fs, d.n.key); err != nil {
			return file{}, fs.status("lookup", err)
		}
	}
}

// maxLink is the longest path of a symbolic link in bytes, as of Linux.
const maxLink = unix.PathMax - 1

// ReadLink returns where a symbolic link leads.
func (fs *FS) ReadLink(_ context.Context, _ *vfs.Cred, h nfs3.FH) (string, nfs3.PostOpAttr, error) {
	f, err := fs.hold(&h)
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	defer f.release()
	a, err := fs.attr(f)
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	if a.Type != nfs3.TypeLnk {
		return "", nfs3.PostOpAttrOf(a), nfs3.ErrInval
	}
	buf := make([]byte, unix.PathMax)
	n, err := retry(func() (int, error) { return unix.Readlinkat(f.path.fd, "", buf) })
	if err != nil {
		return "", nfs3.PostOpAttrOf(a), fs.status("readlink", err)
	}
	return string(buf[:n]), fs.post(f), nil
}
