package nfsfs

import (
	"context"
	"io/fs"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Mkdir makes a directory with the permissions perm. There is no umask.
func (f *FS) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return pathError("mkdir", name, f.names.fresh(func() error {
		p, err := f.names.parent(ctx, name)
		if err != nil {
			return err
		}
		above, base, _ := split(name)
		w, changes, known := f.names.dirs.get(&f.names, above)
		o, err := f.c.Mkdir(ctx, p.dir, p.base, nfs3.Sattr{Mode: SattrMode(perm)})
		if err == nil && (known || above == "") && w.here() == p.dir {
			w.chain = append(w.chain, o.File)
			w.seen = append(w.seen, entry{p.dir, base})
			f.names.dirs.put(above+base+"/", &w, changes)
		}
		return err
	}))
}

// Hold remembers where the name of a directory leads, until release is called. A program that makes
// many files in a directory saves LOOKUPs. The FS forgets the directory anyway when it removes or
// renames it, or when the server says that it is stale.
func (f *FS) Hold(ctx context.Context, name string) (release func(), err error) {
	dir := strings.TrimRight(name, "/") + "/"
	if dir == "/" || dir == "./" {
		return func() {}, nil
	}
	if _, _, err := f.names.directory(ctx, dir); err != nil {
		return nil, pathError("open", name, err)
	}
	return f.names.dirs.hold(dir), nil
}

// MkdirAll makes a directory, and those above it that are missing.
func (f *FS) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	name = strings.TrimRight(name, "/")
	n, err := f.names.find(ctx, name, follow)
	if err == nil {
		if !n.isDir() {
			err = failed(nfs3.ProcMkdir, n.base, nfs3.ErrNotDir)
		}
		return pathError("mkdir", name, err)
	}
	if dir, _, _ := split(name); dir != "" {
		if err := f.MkdirAll(ctx, dir, perm); err != nil {
			return err
		}
	}
	err = f.Mkdir(ctx, name, perm)
	if err != nil {
		// Another may have made it at the same time.
		if n, at := f.names.find(ctx, name, noFollow); at == nil && n.isDir() {
			return nil
		}
	}
	return err
}

// Mknod makes a FIFO, a socket or a device (nfs3.TypeFIFO, TypeSock, TypeChr, TypeBlk). rdev has
// the numbers of a device.
func (f *FS) Mknod(
	ctx context.Context, name string, kind nfs3.FileType, rdev nfs3.Specdata, perm fs.FileMode,
) error {
	return pathError("mknod", name, f.names.fresh(func() error {
		p, err := f.names.leaf(ctx, name)
		if err == nil {
			_, err = f.c.Mknod(ctx, p.dir, p.base, kind, rdev, nfs3.Sattr{Mode: SattrMode(perm)})
		}
		return err
	}))
}

// Symlink makes a symbolic link that contains target.
func (f *FS) Symlink(ctx context.Context, target, name string) error {
	return linkError("symlink", target, name, f.names.fresh(func() error {
		p, err := f.names.leaf(ctx, name)
		if err == nil {
			_, err = f.c.Symlink(ctx, p.dir, p.base, target, nfs3.Sattr{Mode: SattrMode(0o777)})
		}
		return err
	}))
}

// Link gives a file another name. It does not follow a symbolic link, but links to it.
func (f *FS) Link(ctx context.Context, from, name string) error {
	return linkError("link", from, name, f.names.fresh(func() error {
		n, err := f.names.find(ctx, from, noFollow)
		if err != nil {
			return err
		}
		p, err := f.names.leaf(ctx, name)
		if err == nil {
			_, err = f.c.Link(ctx, n.file, p.dir, p.base)
		}
		return err
	}))
}
