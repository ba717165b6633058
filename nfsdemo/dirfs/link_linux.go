package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Link gives a file a further name.
func (fs *FS) Link(_ context.Context, c *vfs.Cred, h, dir nfs3.FH, name string) (nfs3.PostOpAttr, nfs3.WccData, error) {
	f, err := fs.hold(&h)
	if err != nil {
		return nfs3.PostOpAttr{}, nfs3.WccData{}, err
	}
	defer f.release()
	d, _, err := fs.holdDir(&dir)
	if err != nil {
		return fs.post(f), nfs3.WccData{}, err
	}
	defer d.release()
	a, wcc, err := fs.linkLocked(c, f, d, name)
	if err == nil {
		if err = fs.persist(d, nfs3.TypeDir); err == nil && a.Attr.Type == nfs3.TypeReg {
			err = fs.persist(f, a.Attr.Type)
		}
	}
	return a, wcc, err
}

func (fs *FS) linkLocked(c *vfs.Cred, f, d file, name string) (attr nfs3.PostOpAttr, wcc nfs3.WccData, err error) {
	d.n.mu.Lock()
	defer d.n.mu.Unlock()
	da, err := fs.attr(d)
	if err != nil {
		return fs.post(f), wcc, err
	}
	wcc.Before = da.Pre()
	fa, err := fs.attr(f)
	switch {
	case err != nil:
	case fa.Type == nfs3.TypeDir:
		err = nfs3.ErrIsDir // and its lock may be held
	default:
		f.n.mu.Lock()
		defer f.n.mu.Unlock()
		err = fs.link(c, f, d, &da, name)
	}
	wcc.After = fs.post(d)
	return fs.post(f), wcc, err
}

// link makes a name; both locks are held.
func (fs *FS) link(c *vfs.Cred, f, d file, da *nfs3.Fattr, name string) error {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return err
	}
	p := fs.perm(c, d, da)
	switch {
	case !p.Can(c, vfs.MayExec):
		return nfs3.ErrAcces
	case reserved(name):
		return nfs3.ErrExist
	}
	if _, err := fs.child(d, name); err == nil {
		return nfs3.ErrExist
	} else if err != nfs3.ErrNoEnt {
		return err
	}
	if err := p.CheckAddName(c); err != nil {
		return err
	}
	if err := linkFD(f.path.fd, d.path.fd, name); err != nil {
		return fs.status("link", err)
	}
	fs.table.enter(f.n, hint{d.n.key, name})
	fs.table.keep()
	return nil
}

// linkFD gives the file of a descriptor a name in a directory.
func linkFD(fd, dirfd int, name string) error {
	err := again(func() error { return unix.Linkat(fd, "", dirfd, name, unix.AT_EMPTY_PATH) })
	if err == unix.ENOENT {
		// That takes a capability, which the process does not have.
		err = again(func() error { return unix.Linkat(unix.AT_FDCWD, procPath(fd), dirfd, name, unix.AT_SYMLINK_FOLLOW) })
	}
	return err
}
