package serve

import (
	"golang.org/x/sys/unix"
)

// isMountPoint reports whether something is mounted on a directory.
func isMountPoint(dir string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BASIC_STATS, &st)
	return err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
