package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Rename gives a file another name. The host sees to it that a directory does not move below itself, and what can
// replace what.
func (fs *FS) Rename(_ context.Context, c *vfs.Cred, from nfs3.FH, fromName string, to nfs3.FH, toName string) (fromWcc, toWcc nfs3.WccData, err error) {
	fd, _, err := fs.holdDir(&from)
	if err != nil {
		return fromWcc, toWcc, err
	}
	defer fd.release()
	td, _, err := fs.holdDir(&to)
	if err != nil {
		fromWcc.After = fs.post(fd)
		return fromWcc, toWcc, err
	}
	defer td.release()
	fromWcc, toWcc, done, err := fs.renameLocked(c, fd, fromName, td, toName)
	if done {
		err = fs.persist(fd, nfs3.TypeDir)
		if td.n != fd.n && err == nil {
			err = fs.persist(td, nfs3.TypeDir)
		}
	}
	return fromWcc, toWcc, err
}

func (fs *FS) renameLocked(c *vfs.Cred, fd file, fromName string, td file, toName string) (fromWcc, toWcc nfs3.WccData, done bool, err error) {
	unlock := lockBoth(fd.n, td.n)
	defer unlock()
	fa, err := fs.attr(fd)
	if err != nil {
		return fromWcc, toWcc, false, err
	}
	ta, err := fs.attr(td)
	if err != nil {
		return fromWcc, toWcc, false, err
	}
	fromWcc.Before, toWcc.Before = fa.Pre(), ta.Pre()
	done, err = fs.rename(c, fd, &fa, fromName, td, &ta, toName)
	fromWcc.After, toWcc.After = fs.post(fd), fs.post(td)
	return fromWcc, toWcc, done, err
}

// lockBoth locks two nodes, in the same order as everybody else who does, or one if they are
// the same.
func lockBoth(a, b *node) (unlock func()) {
	if a == b {
		a.mu.Lock()
		return a.mu.Unlock
	}
	if a.ino > b.ino || a.ino == b.ino && a.gen > b.gen {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
	return func() {
		b.mu.Unlock()
		a.mu.Unlock()
	}
}

// rename reports whether anything changed; both directories are locked.
func (fs *FS) rename(c *vfs.Cred, fd file, fa *nfs3.Fattr, fromName string, td file, ta *nfs3.Fattr, toName string) (bool, error) {
	for _, name := range []string{fromName, toName} {
		if err := vfs.CheckName(name, MaxName); err != nil {
			return false, err
		}
		if reserved(name) {
			return false, nfs3.ErrInval
		}
	}
	fp, tp := fs.perm(c, fd, fa), fs.perm(c, td, ta)
	if !fp.Can(c, vfs.MayExec) || !tp.Can(c, vfs.MayExec) {
		return false, nfs3.ErrAcces
	}
	src, err := fs.child(fd, fromName)
	if err != nil {
		return false, err
	}
	dst, err := fs.child(td, toName)
	exists := err == nil
	if !exists && err != nfs3.ErrNoEnt {
		return false, err
	}
	if err := fp.CheckRemove(c, vfs.PermOf(&src.attr)); err != nil {
		return false, err
	}
	if !exists {
		err = tp.CheckAddName(c)
	} else {
		err = tp.CheckRemove(c, vfs.PermOf(&dst.attr))
	}
	if err != nil {
		return false, err
	}
	switch {
	case exists && keyOf(&src.st) == keyOf(&dst.st):
		return false, nil
	case src.attr.Type == nfs3.TypeDir && fd.n != td.n && !fs.permIn(c, fd, fromName, &src.attr).Can(c, vfs.MayWrite):
		return false, nfs3.ErrAcces // its ".." is another
	}
	fs.renames.Lock()
	defer fs.renames.Unlock()
	if err := again(func() error { return unix.Renameat(fd.path.fd, fromName, td.path.fd, toName) }); err != nil {
		return false, fs.status("rename", err)
	}
	if exists {
		fs.unlinked(td, toName, &dst)
	}
	if n, _ := fs.table.get(keyOf(&src.st)); n != nil {
		fs.table.leave(n, hint{fd.n.key, fromName})
		fs.table.enter(n, hint{td.n.key, toName})
	}
	fs.table.keep()
	return true, nil
}
