package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Link gives a file a further name.
func (fs *FS) Link(
	_ context.Context, c *vfs.Cred, h, dir nfs3.FH, name string,
) (nfs3.PostOpAttr, nfs3.WccData, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return nfs3.PostOpAttr{}, nfs3.WccData{}, err
	}
	defer f.release()
	d, err := fs.tree.holdDir(&dir)
	if err != nil {
		return f.post(), nfs3.WccData{}, err
	}
	defer d.release()
	a, wcc, err := d.link(c, f, name)
	if err == nil {
		if err = d.persist(nfs3.TypeDir); err == nil && a.Attr.Type == nfs3.TypeReg {
			err = f.persist(a.Attr.Type)
		}
	}
	return a, wcc, err
}

// link gives f a name in d. It returns the attributes of f, and those of d before and after.
func (d dir) link(
	c *vfs.Cred, f file, name string,
) (attr nfs3.PostOpAttr, wcc nfs3.WccData, err error) {
	wcc, err = d.step(func(da nfs3.Fattr) error {
		fa, err := f.attr()
		if err != nil {
			return err
		}
		if fa.Type == nfs3.TypeDir {
			return nfs3.ErrIsDir // and its lock may be held
		}
		f.n.mu.Lock()
		defer f.n.mu.Unlock()
		err = d.linkLocked(c, &da, f, name)
		attr = f.post()
		return err
	})
	if !attr.Present {
		attr = f.post()
	}
	return attr, wcc, err
}

// linkLocked makes the name. Both nodes are locked.
func (d dir) linkLocked(c *vfs.Cred, da *nfs3.Fattr, f file, name string) error {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return err
	}
	p := d.perm(c, da)
	switch {
	case !p.Can(c, vfs.MayExec):
		return nfs3.ErrAcces
	case reserved(name):
		return nfs3.ErrExist
	}
	if _, err := d.child(name); err == nil {
		return nfs3.ErrExist
	} else if err != nfs3.ErrNoEnt {
		return err
	}
	if err := p.CheckAddName(c); err != nil {
		return err
	}
	if err := linkFD(f.path.fd, d.path.fd, name); err != nil {
		return d.t.host.status("link", err)
	}
	d.t.files.seen(&f.n.id, d.n, name)
	d.t.files.keep()
	return nil
}

// linkFD gives the file of a descriptor a name in a directory.
func linkFD(fd, dirfd int, name string) error {
	err := again(func() error { return unix.Linkat(fd, "", dirfd, name, unix.AT_EMPTY_PATH) })
	if err == unix.ENOENT {
		// Linkat with AT_EMPTY_PATH needs a capability that the process lacks.
		err = again(func() error {
			return unix.Linkat(unix.AT_FDCWD, procPath(fd), dirfd, name, unix.AT_SYMLINK_FOLLOW)
		})
	}
	return err
}
