package dirfs

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// oneStep is how names are resolved: nothing that a name can stand for leads
// anywhere else.
const oneStep = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS |
	unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openPath returns an O_PATH descriptor of what path, relative to a directory, stands for; of a
// symbolic link that is the link.
func openPath(dirfd int, path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: oneStep}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dirfd, path, &how)
		// EAGAIN: a rename elsewhere at the same time.
		if err == unix.EINTR || err == unix.EAGAIN && tries < 100 {
			continue
		}
		return fd, err
	}
}

// reopen opens the very file that an O_PATH descriptor stands for. It must be a regular file or
// a directory: opening others may wait, or do things.
func reopen(fd, flags int) (int, error) {
	return retry(func() (int, error) {
		return unix.Open(procPath(fd), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
}

// procPath is a name of the file that a descriptor stands for, for calls that cannot
// do with an O_PATH descriptor.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// retry calls a function again when a signal came in between.
func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err != unix.EINTR {
			return v, err
		}
	}
}

// again is retry for calls that return nothing else.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID

// noName is the empty name, ended by a NUL.
var noName [1]byte

// statName is statx(2) of a name in a directory, which ends with a NUL. A link is
// not followed. Unlike that of x/sys it does not allocate.
func statName(dirfd int, name *byte, st *unix.Statx_t) error {
	for {
		_, _, e := unix.Syscall6(unix.SYS_STATX, uintptr(dirfd), uintptr(unsafe.Pointer(name)),
			unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_EMPTY_PATH, statMask,
			uintptr(unsafe.Pointer(st)), 0)
		switch e {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return e
		}
	}
}

// statFD is statx(2) of a descriptor.
func statFD(fd int, st *unix.Statx_t) error { return statName(fd, &noName[0], st) }
