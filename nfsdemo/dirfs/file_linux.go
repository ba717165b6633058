package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// file is a node with a descriptor: what operations work on.
type file struct {
	t    *tree
	n    *node
	path *desc // O_PATH
}

func (f file) release() { f.path.release() }

// attr returns the attributes, or nfs3.ErrStale if the file has no name left.
func (f file) attr() (nfs3.Fattr, error) {
	var st unix.Statx_t
	if err := statFD(f.path.fd, &st); err != nil {
		return nfs3.Fattr{}, f.t.host.status("stat", err)
	}
	if st.Nlink == 0 {
		f.t.forget(f.n)
		return nfs3.Fattr{}, nfs3.ErrStale
	}
	return f.t.fattr(&st), nil
}

// post returns post-operation attributes.
func (f file) post() nfs3.PostOpAttr {
	a, err := f.attr()
	return nfs3.PostOpAttr{Present: err == nil, Attr: a}
}

// step runs op as one step with reading the attributes before and after it. op gets those before.
// If op fails and the file has no name left, the error is nfs3.ErrStale, whatever the host said:
// ext4 answers EPERM to making an unnamed file in such a directory.
func (f file) step(op func(before nfs3.Fattr) error) (wcc nfs3.WccData, err error) {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	a, err := f.attr()
	if err != nil {
		return wcc, err
	}
	wcc.Before = a.Pre()
	err = op(a)
	after, stale := f.attr()
	wcc.After = nfs3.PostOpAttr{Present: stale == nil, Attr: after}
	if err != nil && stale == nfs3.ErrStale {
		err = stale
	}
	return wcc, err
}

// perm returns the Perm of the file for c.
func (f file) perm(c *vfs.Cred, a *nfs3.Fattr) vfs.Perm {
	return f.t.host.perm(c, a, func() (acl, error) {
		return readACL(unix.Getxattr, procPath(f.path.fd), aclAccess)
	})
}

// open opens a regular file or a directory for reading, or also for writing.
func (f file) open(write bool) (*desc, error) { return f.t.descs.open(f.path, write) }

// sync syncs a descriptor from open. It gives up one that is writable if the file is a program,
// because the host would not execute it.
func (f file) sync(d *desc, how func(*desc) error) error {
	err := how(d)
	var st unix.Statx_t
	if d.writable && statFD(d.fd, &st) == nil && st.Mode&0o111 != 0 {
		f.t.descs.data.retire(d)
	}
	return f.t.host.status("sync", err)
}

// persist writes the attributes of a file, or the entries of a directory, to stable storage.
func (f file) persist(kind nfs3.FileType) error {
	if kind == nfs3.TypeReg || kind == nfs3.TypeDir {
		if d, err := f.open(false); err == nil {
			defer d.release()
			return f.sync(d, (*desc).fsync)
		}
	}
	// Other files cannot be opened, or opening them has effects: sync the whole file system.
	h := &f.t.host
	fd, err := reopen(f.t.descs.root.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return h.status("sync", err)
	}
	defer unix.Close(fd)
	return h.status("sync", again(func() error { return unix.Syncfs(fd) }))
}
