package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Write fetches the data into buffers and writes them.
func (fs *FS) Write(
	ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, data xdr.Bulk, how nfs3.StableHow,
) (vfs.WriteResult, error) {
	r := vfs.WriteResult{Committed: how}
	f, err := fs.tree.hold(&h)
	if err != nil {
		return r, err
	}
	defer f.release()
	f.n.mu.RLock()
	a, err := f.attr()
	f.n.mu.RUnlock()
	if err != nil {
		return r, err
	}
	r.Wcc.After = nfs3.PostOpAttrOf(a)
	if err := f.mayWriteAt(c, &a, off, data.Len()); err != nil || data.Len() == 0 {
		return r, err
	}
	d, err := f.open(true)
	if err != nil {
		return r, fs.tree.host.status("open", err)
	}
	defer d.release()
	l := fs.buffers.lease(data.Len())
	defer l.Release()
	if err := data.FetchInto(ctx, l.data); err != nil {
		return r, err
	}
	if err := f.store(ctx, c, d, off, l.data, &r); err != nil {
		return r, err
	}
	switch how {
	case nfs3.DataSync:
		err = f.sync(d, (*desc).fdatasync)
	case nfs3.FileSync:
		err = f.sync(d, (*desc).fsync)
	}
	return r, err
}

// store writes data and returns the attributes before and after.
func (f file) store(
	ctx context.Context, c *vfs.Cred, d *desc, off uint64, data [][]byte, r *vfs.WriteResult,
) error {
	n := 0
	for _, p := range data {
		n += len(p)
	}
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	if err := ctx.Err(); err != nil {
		// The connection has ended. The caller makes the call again over another one, and then
		// others, which this one must not undo.
		return err
	}
	a, err := f.attr()
	if err != nil {
		return err
	}
	r.Wcc = nfs3.WccData{Before: a.Pre(), After: nfs3.PostOpAttrOf(a)}
	if err := f.mayWriteAt(c, &a, off, n); err != nil {
		return err
	}
	if mode := vfs.PermOf(&a).ModeWritten(c); mode != a.Mode {
		// Before the file has any of c's data.
		if err := chmod(f.path.fd, mode); err != nil {
			return f.t.host.status("chmod", err)
		}
	}
	got, err := writeAll(d.fd, data, int64(off))
	if got > 0 {
		err = nil // the rest comes again, and with it the error
		r.Count = uint32(got)
		d.dirty.Store(true) // after the write: a sync just before may have missed it
	}
	r.Wcc.After = f.post()
	return f.t.host.status("write", err)
}

// writeAll writes as much of the data as there is room for.
func writeAll(fd int, data [][]byte, off int64) (int, error) {
	got := 0
	for _, p := range data {
		for len(p) > 0 {
			n, err := unix.Pwrite(fd, p, off+int64(got))
			if err == unix.EINTR {
				continue
			}
			if err != nil || n == 0 {
				return got, err
			}
			got += n
			p = p[n:]
		}
	}
	return got, nil
}

// mayWriteAt returns the error of a WRITE that is not allowed.
func (f file) mayWriteAt(c *vfs.Cred, a *nfs3.Fattr, off uint64, n int) error {
	if err := isFile(a); err != nil {
		return err
	}
	if !f.perm(c, a).CanWriteData(c) {
		return nfs3.ErrAcces
	}
	if most := f.t.host.maxSize; off > most || uint64(n) > most-off {
		return nfs3.ErrFBig
	}
	return nil
}
