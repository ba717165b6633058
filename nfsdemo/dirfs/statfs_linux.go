package dirfs

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Info tells what the file system can do.
func (fs *FS) Info() vfs.Info {
	return vfs.Info{
		MaxFileSize: fs.maxSize,
		TimeDelta:   nfs3.Time{Nsec: 1},
		Properties:  nfs3.FSFLink | nfs3.FSFSymlink | nfs3.FSFHomogeneous | nfs3.FSFCanSetTime,
		PathConf: nfs3.PathConf{LinkMax: fs.linkMax, NameMax: MaxName, NoTrunc: true, ChownRestricted: true,
			CasePreserving: true},
	}
}

// StatFS tells how full the file system of the host is.
func (fs *FS) StatFS(_ context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error) {
	f, err := fs.hold(&h)
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	defer f.release()
	a, err := fs.attr(f)
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	var s unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(fs.rootPath.fd, &s) }); err != nil {
		return nfs3.FSStat{}, nfs3.Attrs(a), fs.status("statfs", err)
	}
	unit := uint64(s.Frsize)
	return nfs3.FSStat{
		TotalBytes: s.Blocks * unit,
		FreeBytes:  s.Bfree * unit,
		AvailBytes: s.Bavail * unit,
		TotalFiles: s.Files,
		FreeFiles:  s.Ffree,
		AvailFiles: s.Ffree,
	}, nfs3.Attrs(a), nil
}

// linkMax returns how many names a file can have, as far as that is known: the kernel does not tell.
func linkMax(fsType int64) uint32 {
	switch fsType {
	case unix.EXT4_SUPER_MAGIC:
		return 65000
	case unix.XFS_SUPER_MAGIC:
		return math.MaxInt32
	case unix.BTRFS_SUPER_MAGIC:
		return 65535
	case unix.TMPFS_MAGIC:
		return math.MaxUint32
	}
	return 127 // what Linux guarantees
}

// maxSize returns the size of the largest file. The kernel does not tell, but seeks
// no further.
func maxSize(dirfd int) uint64 {
	fd, err := unix.Openat(dirfd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return math.MaxInt64
	}
	defer unix.Close(fd)
	low, high := int64(0), int64(math.MaxInt64) // low is possible, high may be
	for low < high {
		mid := low + (high-low)/2 + 1
		if _, err := unix.Seek(fd, mid, unix.SEEK_SET); err == nil {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return uint64(low)
}
