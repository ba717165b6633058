package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Read returns a copy of the data.
func (fs *FS) Read(
	_ context.Context, c *vfs.Cred, h nfs3.FH, off uint64, n int, r *vfs.ReadResult,
) error {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return err
	}
	defer f.release()
	f.n.mu.RLock()
	defer f.n.mu.RUnlock()
	a, err := f.attr()
	if err != nil {
		return err
	}
	r.Attr = nfs3.PostOpAttrOf(a)
	if err := isFile(&a); err != nil {
		return err
	}
	if !f.perm(c, &a).CanReadData(c) {
		return nfs3.ErrAcces
	}
	if off >= a.Size {
		r.EOF = true
		return nil
	}
	// Get no buffers beyond the end of the file.
	n = int(min(uint64(max(n, 0)), a.Size-off))
	if n == 0 {
		return nil
	}
	d, err := f.open(false)
	if err != nil {
		return fs.tree.host.status("open", err)
	}
	defer d.release()
	l := fs.buffers.lease(n)
	r.Release = l
	got := 0
	for _, p := range l.data {
		k, err := readFull(d.fd, p, int64(off)+int64(got))
		if err != nil {
			return fs.tree.host.status("read", err)
		}
		r.Data = append(r.Data, p[:k:k])
		if got += k; k < len(p) {
			break // cut off by the host meanwhile
		}
	}
	// The atime may have changed, and the host may have changed the size. EOF must agree with it.
	size := a.Size
	if r.Attr = f.post(); r.Attr.Present {
		size = r.Attr.Attr.Size
	}
	r.EOF = got == 0 || off+uint64(got) >= size
	return nil
}

// readFull reads until p is full or the file ends.
func readFull(fd int, p []byte, off int64) (int, error) {
	got := 0
	for got < len(p) {
		n, err := unix.Pread(fd, p[got:], off+int64(got))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return got, err
		case n == 0:
			return got, nil
		default:
			got += n
		}
	}
	return got, nil
}

// isFile returns nil if a file has data, or the error of READ and WRITE.
func isFile(a *nfs3.Fattr) error {
	switch a.Type {
	case nfs3.TypeReg:
		return nil
	case nfs3.TypeDir:
		return nfs3.ErrIsDir
	}
	return nfs3.ErrInval
}
