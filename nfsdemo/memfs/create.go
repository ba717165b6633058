package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Create makes a regular file. It keeps the verifier as long as the file, so it recognises an
// exclusive call that is repeated late.
func (fs *FS) Create(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, how *nfs3.CreateHow,
) (vfs.Object, nfs3.WccData, error) {
	set := how.Set
	if how.Mode == nfs3.Exclusive {
		// The attributes follow with a SETATTR (RFC 1813 section 3.3.8).
		set = nfs3.Sattr{Mode: nfs3.Set32{Set: true}}
	}
	return fs.enter(c, &dir, name, &blank{kind: nfs3.TypeReg, set: set}, func(n *node, made bool) error {
		switch {
		case made:
			n.excl, n.verf = how.Mode == nfs3.Exclusive, how.Verf
			return nil
		case how.Mode == nfs3.Exclusive && n.excl && n.verf == how.Verf:
			return nil // a repeated call
		case how.Mode != nfs3.Unchecked || n.kind != nfs3.TypeReg:
			return nfs3.ErrExist
		case !set.Size.Set:
			return nil
		}
		// Set only the size of an existing file, like open(2) with O_TRUNC.
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.change(c, &nfs3.Sattr{Size: set.Size})
	})
}

// Mkdir makes a directory.
func (fs *FS) Mkdir(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, set *nfs3.Sattr,
) (vfs.Object, nfs3.WccData, error) {
	return fs.enter(c, &dir, name, &blank{kind: nfs3.TypeDir, set: *set}, mustBeNew)
}

// Mknod makes a FIFO, a socket or a device.
func (fs *FS) Mknod(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, kind nfs3.FileType,
	rdev nfs3.Specdata, set *nfs3.Sattr,
) (vfs.Object, nfs3.WccData, error) {
	b := blank{kind: kind, set: *set}
	switch {
	case kind == nfs3.TypeFIFO || kind == nfs3.TypeSock:
	case kind != nfs3.TypeChr && kind != nfs3.TypeBlk:
		b.err = nfs3.ErrBadType
	case c.UID != 0:
		b.err = nfs3.ErrPerm
	default:
		b.rdev = rdev
	}
	return fs.enter(c, &dir, name, &b, mustBeNew)
}

func mustBeNew(_ *node, made bool) error {
	if !made {
		return nfs3.ErrExist
	}
	return nil
}
