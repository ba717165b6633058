package dirfs

import (
	"cmp"
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Mkdir makes a directory.
func (fs *FS) Mkdir(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, set *nfs3.Sattr) (vfs.Object, nfs3.WccData, error) {
	return fs.enter(c, &dir, name, nfs3.TypeDir, set, maker{make: func(d file, _ *birth) (int, error) {
		return fs.makeAt(d, name, unix.S_IFDIR, func() error { return unix.Mkdirat(d.path.fd, name, 0o700) })
	}})
}

// Symlink makes a symbolic link. The host is never asked to follow it.
func (fs *FS) Symlink(_ context.Context, c *vfs.Cred, dir nfs3.FH, name, path string, set *nfs3.Sattr) (vfs.Object, nfs3.WccData, error) {
	var bad error
	switch {
	case path == "" || strings.IndexByte(path, 0) >= 0:
		bad = nfs3.ErrInval
	case len(path) > maxLink:
		bad = nfs3.ErrNameTooLong
	}
	return fs.enter(c, &dir, name, nfs3.TypeLnk, set, maker{make: func(d file, _ *birth) (int, error) {
		if bad != nil {
			return -1, bad
		}
		return fs.makeAt(d, name, unix.S_IFLNK, func() error { return unix.Symlinkat(path, d.path.fd, name) })
	}})
}

// Mknod makes a FIFO, a socket or a device.
func (fs *FS) Mknod(_ context.Context, c *vfs.Cred, dir nfs3.FH, name string, kind nfs3.FileType, rdev nfs3.Specdata, set *nfs3.Sattr) (vfs.Object, nfs3.WccData, error) {
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
	return fs.enter(c, &dir, name, kind, set, maker{make: func(d file, _ *birth) (int, error) {
		if bad != nil {
			return -1, bad
		}
		return fs.makeAt(d, name, format, func() error { return unix.Mknodat(d.path.fd, name, format|0o600, int(dev)) })
	}})
}

// makeAt makes a file by a call that returns no descriptor, and opens it as a path.
func (fs *FS) makeAt(d file, name string, format uint32, call func() error) (int, error) {
	if err := again(call); err != nil {
		return -1, err
	}
	fd, err := openPath(d.path.fd, name)
	if err != nil {
		return -1, err
	}
	var dir, st unix.Statx_t
	if err := cmp.Or(statFD(fd, &st), statFD(d.path.fd, &dir)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if uint32(st.Mode)&unix.S_IFMT != format || !fs.fresh(&st, &dir) {
		unix.Close(fd)
		return -1, nfs3.ErrJukebox
	}
	return fd, nil
}

// freshFor is for how many seconds a file counts as new.
const freshFor = 10

// fresh reports whether a file is as those that the process has just made: its own, with one name, nobody else may do
// anything with it, and it is not older than the last change of the directory. Who can write the directory on the host may
// have put another in its place, a hard link to a file of somebody else's for example, or a directory of root's
// that was there before, which must not be given to the client.
func (fs *FS) fresh(st, dir *unix.Statx_t) bool {
	if st.Mask&unix.STATX_BTIME != 0 && dir.Ctime.Sec-st.Btime.Sec > freshFor {
		return false
	}
	links, mode := uint32(1), uint32(st.Mode)
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		links = 2 // or 1, on file systems that do not count them
	case unix.S_IFLNK:
		mode = 0 // it says nothing
	}
	return st.Uid == fs.uid && st.Nlink <= links && mode&0o077 == 0 && fs.own(st)
}
