package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// open returns a descriptor of a regular file or a directory that can be read, or written
// as well.
func (fs *FS) open(f file, write bool) (*desc, error) {
	if d := fs.data.get(f.n); d != nil {
		if d.writable || !write {
			return d, nil
		}
		d.release()
	}
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_RDWR
	}
	fd, err := fs.withRoom(func() (int, error) { return reopen(f.path.fd, flags) })
	if err != nil {
		return nil, err
	}
	return fs.data.add(f.n, fd, write), nil
}

// persist brings the attributes of a file, and the entries of a directory, to stable storage.
func (fs *FS) persist(f file, kind nfs3.FileType) error {
	if kind == nfs3.TypeReg || kind == nfs3.TypeDir {
		if d, err := fs.open(f, false); err == nil {
			defer d.release()
			return fs.syncData(d, unix.Fsync)
		}
	}
	// It cannot be opened, or that would not be harmless.
	fd, err := reopen(fs.rootPath.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return fs.status("sync", err)
	}
	defer unix.Close(fd)
	return fs.status("sync", again(func() error { return unix.Syncfs(fd) }))
}

// syncData is fsync(2) or fdatasync(2). It gives up a descriptor for writing a program, which the host does not execute
// as long as there is one. Only, if the process is not root, it might not get it again for what it has made read-only.
func (fs *FS) syncData(d *desc, how func(int) error) error {
	err := d.sync(how)
	var st unix.Statx_t
	if fs.super && d.writable && statFD(d.fd, &st) == nil && st.Mode&0o111 != 0 {
		fs.data.retire(d)
	}
	return fs.status("sync", err)
}

// Commit syncs the whole file.
func (fs *FS) Commit(_ context.Context, c *vfs.Cred, h nfs3.FH, _ uint64, _ uint32) (nfs3.WccData, error) {
	f, err := fs.hold(&h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer f.release()
	err = fs.commit(c, f)
	f.n.mu.RLock()
	defer f.n.mu.RUnlock()
	a, aerr := fs.attr(f)
	if aerr != nil {
		return nfs3.WccData{}, aerr
	}
	// A sync changes no attributes.
	return nfs3.WccData{Before: a.Pre(), After: nfs3.PostOpAttrOf(a)}, err
}

func (fs *FS) commit(c *vfs.Cred, f file) error {
	a, err := fs.attr(f)
	if err != nil {
		return err
	}
	if err := isFile(&a); err != nil {
		return err
	}
	if !fs.perm(c, f, &a).CanWriteData(c) {
		return nfs3.ErrAcces
	}
	d, err := fs.open(f, false)
	if err != nil {
		return fs.status("open", err)
	}
	defer d.release()
	err = fs.syncData(d, unix.Fsync)
	if f.n.lost.Swap(false) {
		err = nfs3.ErrIO
	}
	return err
}
