package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Create makes a regular file.
func (fs *FS) Create(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, how *nfs3.CreateHow) (vfs.Object, nfs3.WccData, error) {
	set := how.Set
	if how.Mode == nfs3.Exclusive {
		// The attributes follow with a SETATTR (RFC 1813 section 3.3.8).
		set = nfs3.Sattr{Mode: nfs3.Set32{Set: true}}
	}
	named := false
	return fs.enter(c, &dir, name, nfs3.TypeReg, &set, maker{
		make: func(d file, b *birth) (int, error) {
			if how.Mode == nfs3.Exclusive {
				b.keepVerifier(how.Verf)
			}
			open := func(name string, flags int) (int, error) {
				return retry(func() (int, error) { return unix.Openat(d.path.fd, name, flags|unix.O_RDWR|unix.O_CLOEXEC, 0o600) })
			}
			fd, err := open(".", unix.O_TMPFILE)
			if err == unix.EOPNOTSUPP {
				named = true
				fd, err = open(name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
			}
			return fd, err
		},
		named: func() bool { return named },
		exists: func(d file, ch *child) error {
			a := &ch.attr
			switch {
			case how.Mode == nfs3.Exclusive && keeps(a, how.Verf):
				return nil // a call repeated
			case how.Mode != nfs3.Unchecked || a.Type != nfs3.TypeReg:
				return nfs3.ErrExist
			case !set.Size.Set:
				return nil
			}
			// Of an existing file the size is set and nothing else, as open(2) with O_TRUNC
			// would.
			f, err := fs.holdNode(fs.intern(keyOf(&ch.st), d.n, name))
			if err != nil {
				return err
			}
			defer f.release()
			wcc, _, err := fs.setAttr(c, f, &nfs3.Sattr{Size: set.Size}, nil)
			ch.attr = wcc.After.Attr
			if err == nil {
				err = fs.persist(f, nfs3.TypeReg)
			}
			return err
		},
	})
}
