package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Create makes a regular file.
func (fs *FS) Create(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, how *nfs3.CreateHow,
) (vfs.Object, nfs3.WccData, error) {
	m := making{c: c, name: name, kind: nfs3.TypeReg, set: how.Set}
	if how.Mode == nfs3.Exclusive {
		// The attributes follow with a SETATTR (RFC 1813 section 3.3.8).
		m.set = nfs3.Sattr{Mode: nfs3.Set32{Set: true}}
	}
	m.make = func(b *birth) (int, error) {
		if how.Mode == nfs3.Exclusive {
			b.keepVerifier(how.Verf)
		}
		fd, err := m.create(".", unix.O_TMPFILE)
		if m.unnamed = err != unix.EOPNOTSUPP; m.unnamed {
			return fd, err
		}
		return m.create(name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
	}
	m.exists = func(ch *child) error { return m.found(how, ch) }
	return m.do(&fs.tree, &dir)
}

// create opens a new regular file.
func (m *making) create(name string, flags int) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(m.dir.path.fd, name, flags|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	})
}

// found decides whether an existing file is what CREATE asks for.
func (m *making) found(how *nfs3.CreateHow, ch *child) error {
	a := &ch.attr
	switch {
	case how.Mode == nfs3.Exclusive && keeps(a, how.Verf):
		return nil // a repeated call
	case how.Mode != nfs3.Unchecked || a.Type != nfs3.TypeReg:
		return nfs3.ErrExist
	case !m.set.Size.Set:
		return nil
	}
	// Set only the size of an existing file, like open(2) with O_TRUNC.
	f, err := m.dir.t.holdNode(m.dir.t.nodeOf(&ch.id))
	if err != nil {
		return err
	}
	defer f.release()
	wcc, err := f.step(func(a nfs3.Fattr) error {
		return f.set(m.c, &a, &nfs3.Sattr{Size: m.set.Size})
	})
	ch.attr = wcc.After.Attr
	if err == nil {
		err = f.persist(nfs3.TypeReg)
	}
	return err
}
