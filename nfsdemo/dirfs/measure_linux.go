package dirfs

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// linkMax returns how many names a file can have. The kernel does not tell; unknown file systems
// get the guaranteed minimum.
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

// measure finds the size of the largest file, by seeking, and the step in which times can be set.
// It uses a file without a name. If none can be made, it returns the best values.
func measure(dirfd int) (maxSize uint64, step nfs3.Time) {
	maxSize, step = math.MaxInt64, nfs3.Time{Nsec: 1}
	// Beyond the process's limit a write does not fail, but kills the process by a signal.
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil {
		maxSize = min(maxSize, limit.Cur)
	}
	fd, err := unix.Openat(dirfd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	low, high := int64(0), int64(math.MaxInt64) // low is possible, high is an upper bound
	for low < high {
		mid := low + (high-low)/2 + 1
		if _, err := unix.Seek(fd, mid, unix.SEEK_SET); err == nil {
			low = mid
		} else {
			high = mid - 1
		}
	}
	var st unix.Statx_t
	last := nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 1, Nsec: 1e9 - 1}}
	if setTimes(fd, last, last) == nil && statFD(fd, &st) == nil {
		if step.Nsec = 1e9 - st.Mtime.Nsec; step.Nsec == 1e9 {
			step = nfs3.Time{Sec: 1}
		}
	}
	return min(maxSize, uint64(low)), step
}
