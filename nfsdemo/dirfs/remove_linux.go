package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Remove removes the name of a file that is not a directory.
func (fs *FS) Remove(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string,
) (nfs3.WccData, error) {
	r := removal{name: name, dotdot: nfs3.ErrIsDir}
	return r.do(&fs.tree, c, &dir)
}

// Rmdir removes an empty directory.
func (fs *FS) Rmdir(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string,
) (nfs3.WccData, error) {
	r := removal{name: name, dotdot: nfs3.ErrExist, rmdir: true}
	return r.do(&fs.tree, c, &dir)
}

// removal removes a name.
type removal struct {
	name   string
	dotdot nfs3.Status // the error for ".."
	rmdir  bool        // remove a directory, not another file
}

func (r *removal) do(t *tree, c *vfs.Cred, h *nfs3.FH) (nfs3.WccData, error) {
	d, err := t.holdDir(h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer d.release()
	wcc, err := d.step(func(a nfs3.Fattr) error { return r.unlink(c, d, &a) })
	if err == nil {
		err = d.persist(nfs3.TypeDir)
	}
	return wcc, err
}

// unlink removes the name from d. d.n.mu is held.
func (r *removal) unlink(c *vfs.Cred, d dir, a *nfs3.Fattr) error {
	if err := vfs.CheckName(r.name, MaxName); err != nil {
		return err
	}
	switch r.name {
	case ".":
		return nfs3.ErrInval
	case "..":
		return r.dotdot
	}
	p := d.perm(c, a)
	if !p.Can(c, vfs.MayExec) {
		return nfs3.ErrAcces
	}
	ch, err := d.child(r.name)
	if err != nil {
		return err
	}
	if err := p.CheckRemove(c, vfs.PermOf(&ch.attr)); err != nil {
		return err
	}
	flags := 0
	switch isDir := ch.attr.Type == nfs3.TypeDir; {
	case isDir && !r.rmdir:
		return nfs3.ErrIsDir
	case !isDir && r.rmdir:
		return nfs3.ErrNotDir
	case r.rmdir:
		flags = unix.AT_REMOVEDIR
	}
	x, err := d.doom(r.name, &ch)
	if err != nil {
		return err
	}
	defer x.close()
	if err := again(func() error { return unix.Unlinkat(d.path.fd, r.name, flags) }); err != nil {
		return d.t.host.status("remove", err)
	}
	x.unlinked()
	d.t.files.keep()
	return nil
}
