package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Rename gives a file another name. The host checks that a directory does not move below itself,
// and which files may replace which.
func (fs *FS) Rename(
	_ context.Context, c *vfs.Cred, from nfs3.FH, fromName string, to nfs3.FH, toName string,
) (fromWcc, toWcc nfs3.WccData, err error) {
	fd, err := fs.tree.holdDir(&from)
	if err != nil {
		return fromWcc, toWcc, err
	}
	defer fd.release()
	td, err := fs.tree.holdDir(&to)
	if err != nil {
		fromWcc.After = fd.post()
		return fromWcc, toWcc, err
	}
	defer td.release()
	r := renaming{from: fd, to: td, fromName: fromName, toName: toName}
	fromWcc, toWcc, err = r.step(c)
	if r.done {
		err = fd.persist(nfs3.TypeDir)
		if td.n != fd.n && err == nil {
			err = td.persist(nfs3.TypeDir)
		}
	}
	return fromWcc, toWcc, err
}

// renaming is the state of Rename.
type renaming struct {
	from, to         dir
	fromName, toName string

	src, dst child
	replaces bool // dst exists
	done     bool // the file has been renamed
}

// step is file.step of both directories.
func (r *renaming) step(c *vfs.Cred) (fromWcc, toWcc nfs3.WccData, err error) {
	unlock := lockBoth(r.from.n, r.to.n)
	defer unlock()
	fa, err := r.from.attr()
	if err != nil {
		return fromWcc, toWcc, err
	}
	ta, err := r.to.attr()
	if err != nil {
		return fromWcc, toWcc, err
	}
	fromWcc.Before, toWcc.Before = fa.Pre(), ta.Pre()
	for range maxQuicker {
		if err = r.check(c, &fa, &ta); err == nil {
			err = r.rename()
		}
		if err != errQuicker {
			break
		}
	}
	fromWcc.After, toWcc.After = r.from.post(), r.to.post()
	return fromWcc, toWcc, err
}

// lockBoth locks two nodes in lock order, or one if they are the same.
func lockBoth(a, b *node) (unlock func()) {
	if a == b {
		a.mu.Lock()
		return a.mu.Unlock
	}
	if b.before(a) {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
	return func() {
		b.mu.Unlock()
		a.mu.Unlock()
	}
}

// check looks up the names, and checks that c may rename the file.
func (r *renaming) check(c *vfs.Cred, fa, ta *nfs3.Fattr) error {
	for _, name := range []string{r.fromName, r.toName} {
		if err := vfs.CheckName(name, MaxName); err != nil {
			return err
		}
		if reserved(name) {
			return nfs3.ErrInval
		}
	}
	fp, tp := r.from.perm(c, fa), r.to.perm(c, ta)
	if !fp.Can(c, vfs.MayExec) || !tp.Can(c, vfs.MayExec) {
		return nfs3.ErrAcces
	}
	var err error
	if r.src, err = r.from.child(r.fromName); err != nil {
		return err
	}
	r.dst, err = r.to.child(r.toName)
	if r.replaces = err == nil; !r.replaces && err != nfs3.ErrNoEnt {
		return err
	}
	if err := fp.CheckRemove(c, vfs.PermOf(&r.src.attr)); err != nil {
		return err
	}
	if !r.replaces {
		err = tp.CheckAddName(c)
	} else {
		err = tp.CheckRemove(c, vfs.PermOf(&r.dst.attr))
	}
	if err != nil || r.sameFile() || r.src.attr.Type != nfs3.TypeDir || r.from.n == r.to.n {
		return err
	}
	if !r.from.permOf(c, r.fromName, &r.src.attr).Can(c, vfs.MayWrite) {
		return nfs3.ErrAcces // its ".." changes
	}
	return nil
}

// sameFile reports whether both names are names of the same file. Then there is nothing to do.
func (r *renaming) sameFile() bool { return r.replaces && r.src.id == r.dst.id }

// rename renames the file on the host and in the table. Both directories are locked.
func (r *renaming) rename() error {
	if r.sameFile() {
		return nil
	}
	var x *doomed
	if r.replaces {
		var err error
		if x, err = r.to.doom(r.toName, &r.dst); err != nil {
			return err
		}
		defer x.close()
	}
	t := r.from.t
	t.renames.Lock()
	defer t.renames.Unlock()
	flags := uint(unix.RENAME_NOREPLACE)
	if r.replaces {
		flags = 0
	}
	rename := func() error {
		return unix.Renameat2(r.from.path.fd, r.fromName, r.to.path.fd, r.toName, flags)
	}
	err := again(rename)
	if err == unix.EINVAL && flags != 0 {
		flags = 0 // the file system may not know the flag
		err = again(rename)
	}
	if err == unix.EEXIST && flags != 0 {
		return errQuicker
	}
	if err != nil {
		return t.host.status("rename", err)
	}
	r.done = true
	if x != nil {
		x.unlinked()
	}
	t.files.left(&r.src.id, r.from.n, r.fromName)
	t.files.seen(&r.src.id, r.to.n, r.toName)
	t.files.keep()
	return nil
}
