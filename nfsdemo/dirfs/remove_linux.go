package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Remove removes a name of anything but a directory.
func (fs *FS) Remove(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string) (nfs3.WccData, error) {
	return fs.remove(c, &dir, name, nfs3.ErrIsDir, func(a *nfs3.Fattr) (int, error) {
		if a.Type == nfs3.TypeDir {
			return 0, nfs3.ErrIsDir
		}
		return 0, nil
	})
}

// Rmdir removes an empty directory.
func (fs *FS) Rmdir(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string) (nfs3.WccData, error) {
	return fs.remove(c, &dir, name, nfs3.ErrExist, func(a *nfs3.Fattr) (int, error) {
		if a.Type != nfs3.TypeDir {
			return 0, nfs3.ErrNotDir
		}
		return unix.AT_REMOVEDIR, nil
	})
}

// remove removes a name; flags returns those of unlinkat(2) for what has it. dotdot is the
// answer to "..".
func (fs *FS) remove(c *vfs.Cred, dir *nfs3.FH, name string, dotdot nfs3.Status, flags func(*nfs3.Fattr) (int, error)) (nfs3.WccData, error) {
	d, _, err := fs.holdDir(dir)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer d.release()
	wcc, err := fs.removeLocked(c, d, name, dotdot, flags)
	if err == nil {
		err = fs.persist(d, nfs3.TypeDir)
	}
	return wcc, err
}

func (fs *FS) removeLocked(c *vfs.Cred, d file, name string, dotdot nfs3.Status, flags func(*nfs3.Fattr) (int, error)) (wcc nfs3.WccData, err error) {
	d.n.mu.Lock()
	defer d.n.mu.Unlock()
	a, err := fs.attr(d)
	if err != nil {
		return wcc, err
	}
	wcc.Before = a.Pre()
	err = fs.unlink(c, d, &a, name, dotdot, flags)
	wcc.After = fs.post(d)
	return wcc, err
}

func (fs *FS) unlink(c *vfs.Cred, d file, a *nfs3.Fattr, name string, dotdot nfs3.Status, flags func(*nfs3.Fattr) (int, error)) error {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return err
	}
	switch name {
	case ".":
		return nfs3.ErrInval
	case "..":
		return dotdot
	}
	p := fs.perm(c, d, a)
	if !p.Can(c, vfs.MayExec) {
		return nfs3.ErrAcces
	}
	ch, err := fs.child(d, name)
	if err != nil {
		return err
	}
	if err := p.CheckRemove(c, vfs.PermOf(&ch.attr)); err != nil {
		return err
	}
	flag, err := flags(&ch.attr)
	if err != nil {
		return err
	}
	if err := again(func() error { return unix.Unlinkat(d.path.fd, name, flag) }); err != nil {
		return fs.status("remove", err)
	}
	fs.unlinked(d, name, &ch)
	fs.table.keep()
	return nil
}

// unlinked notes that a file does not have a name any more.
func (fs *FS) unlinked(d file, name string, ch *child) {
	n, _ := fs.table.get(keyOf(&ch.st))
	switch {
	case n == nil:
	case ch.attr.Nlink <= 1 || ch.attr.Type == nfs3.TypeDir:
		fs.forget(n)
	default:
		fs.table.leave(n, hint{d.n.key, name})
	}
}
