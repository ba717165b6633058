package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// lease has the references to pages that a READ has returned.
type lease struct {
	fs    *FS
	pages []*page
}

// Release drops the references.
func (l *lease) Release() {
	for _, p := range l.pages {
		p.drop()
	}
	clear(l.pages)
	l.pages = l.pages[:0]
	l.fs.leases.Put(l)
}

func (fs *FS) newLease() *lease {
	if l, _ := fs.leases.Get().(*lease); l != nil {
		return l
	}
	return &lease{fs: fs}
}

// Read returns references to pages.
func (fs *FS) Read(_ context.Context, c *vfs.Cred, h nfs3.FH, off uint64, count int, r *vfs.ReadResult) error {
	n, err := fs.rlock(&h)
	if err != nil {
		return err
	}
	defer n.mu.RUnlock()
	if err := n.isFile(); err != nil {
		r.Attr = n.post()
		return err
	}
	if !n.perm().CanReadData(c) {
		r.Attr = n.post()
		return nfs3.ErrAcces
	}
	n.accessed()
	r.Attr = n.post()
	if off >= n.size {
		r.EOF = true
		return nil
	}
	end := min(n.size, off+uint64(max(count, 0)))
	r.EOF = end == n.size
	l := fs.newLease()
	r.Release = l
	for off < end {
		in := int(off % blockSize)
		want := int(min(blockSize-uint64(in), end-off))
		p, have := n.blocks[off/blockSize], 0
		if p != nil {
			have = max(0, min(want, p.n-in))
		}
		if have > 0 {
			p.hold()
			l.pages = append(l.pages, p)
			r.Data = append(r.Data, p.buf[in:in+have:in+have])
		}
		if have < want {
			r.Data = append(r.Data, zeroBlock[:want-have:want-have])
		}
		off += uint64(want)
	}
	return nil
}

// isFile returns nil if n has data, or the error of READ and WRITE. n.mu need not be held.
func (n *node) isFile() error {
	switch n.kind {
	case nfs3.TypeReg:
		return nil
	case nfs3.TypeDir:
		return nfs3.ErrIsDir
	}
	return nfs3.ErrInval
}
