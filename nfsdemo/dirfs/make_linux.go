package dirfs

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Mkdir makes a directory.
func (fs *FS) Mkdir(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, set *nfs3.Sattr,
) (vfs.Object, nfs3.WccData, error) {
	m := making{c: c, name: name, kind: nfs3.TypeDir, set: *set}
	m.make = func(*birth) (int, error) {
		return m.makeAt(unix.S_IFDIR, func(dirfd int) error {
			return unix.Mkdirat(dirfd, name, 0o700)
		})
	}
	return m.do(&fs.tree, &dir)
}

// Symlink makes a symbolic link. The host is never asked to follow it.
func (fs *FS) Symlink(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name, path string, set *nfs3.Sattr,
) (vfs.Object, nfs3.WccData, error) {
	var bad error
	switch {
	case path == "" || strings.IndexByte(path, 0) >= 0:
		bad = nfs3.ErrInval
	case len(path) > maxLink:
		bad = nfs3.ErrNameTooLong
	}
	m := making{c: c, name: name, kind: nfs3.TypeLnk, set: *set}
	m.make = func(*birth) (int, error) {
		if bad != nil {
			return -1, bad
		}
		return m.makeAt(unix.S_IFLNK, func(dirfd int) error {
			return unix.Symlinkat(path, dirfd, name)
		})
	}
	return m.do(&fs.tree, &dir)
}

// Mknod makes a FIFO, a socket or a device.
func (fs *FS) Mknod(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, kind nfs3.FileType,
	rdev nfs3.Specdata, set *nfs3.Sattr,
) (vfs.Object, nfs3.WccData, error) {
	var (
		format uint32
		dev    uint64
		bad    error
	)
	switch kind {
	case nfs3.TypeFIFO:
		format = unix.S_IFIFO
	case nfs3.TypeSock:
		format = unix.S_IFSOCK
	case nfs3.TypeChr, nfs3.TypeBlk:
		if format = unix.S_IFCHR; kind == nfs3.TypeBlk {
			format = unix.S_IFBLK
		}
		dev = unix.Mkdev(rdev.Major, rdev.Minor)
		switch {
		case c.UID != 0:
			bad = nfs3.ErrPerm
		case unix.Major(dev) != rdev.Major || unix.Minor(dev) != rdev.Minor || dev>>32 != 0:
			bad = nfs3.ErrInval // numbers that the host does not have
		}
	default:
		bad = nfs3.ErrBadType
	}
	m := making{c: c, name: name, kind: kind, set: *set}
	m.make = func(*birth) (int, error) {
		if bad != nil {
			return -1, bad
		}
		return m.makeAt(format, func(dirfd int) error {
			return unix.Mknodat(dirfd, name, format|0o600, int(dev))
		})
	}
	return m.do(&fs.tree, &dir)
}
