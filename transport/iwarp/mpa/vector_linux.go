//go:build !mpaportable

package mpa

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// vector is a list of pieces as the system wants it. It is kept, since unix.Writev allocates one each time.
type vector struct{ iov []unix.Iovec }

// write writes pieces, once, as far as the socket takes them.
func (v *vector) write(fd int, pieces [][]byte) (int, error) {
	v.iov = v.iov[:0]
	for _, p := range pieces {
		if len(p) > 0 {
			e := unix.Iovec{Base: unsafe.SliceData(p)}
			e.SetLen(len(p))
			v.iov = append(v.iov, e)
		}
	}
	first := unsafe.Pointer(unsafe.SliceData(v.iov))
	n, _, errno := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(first), uintptr(len(v.iov)))
	clear(v.iov)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// read reads, once, what the socket has.
func read(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
