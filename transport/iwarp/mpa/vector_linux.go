//go:build !mpaportable

package mpa

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vector is a list of pieces as the system wants it. It is kept, since unix.Writev allocates one
// each time.
type vector struct{ iov []unix.Iovec }

// write writes pieces, once, as far as the socket takes them.
func (v *vector) write(fd int, pieces [][]byte) (int, error) {
	return v.do(unix.SYS_WRITEV, fd, pieces)
}

// read fills pieces, once, as far as the socket has bytes for them.
func (v *vector) read(fd int, pieces [][]byte) (int, error) {
	return v.do(unix.SYS_READV, fd, pieces)
}

// readOnce fills p, once, as far as the socket has bytes for it.
func readOnce(fd int, p []byte) (int, error) {
	return call(unix.SYS_READ, fd, unsafe.Pointer(unsafe.SliceData(p)), len(p))
}

// writeOnce writes p, once, as far as the socket takes it.
func writeOnce(fd int, p []byte) (int, error) {
	return call(unix.SYS_WRITE, fd, unsafe.Pointer(unsafe.SliceData(p)), len(p))
}

func (v *vector) do(trap uintptr, fd int, pieces [][]byte) (int, error) {
	v.iov = v.iov[:0]
	for _, p := range pieces {
		if len(p) > 0 {
			e := unix.Iovec{Base: unsafe.SliceData(p)}
			e.SetLen(len(p))
			v.iov = append(v.iov, e)
		}
	}
	n, err := call(trap, fd, unsafe.Pointer(unsafe.SliceData(v.iov)), len(v.iov))
	clear(v.iov)
	return n, err
}

// call makes a system call that does not block, so the scheduler need not know of it. If it did, it
// would take away the processor after 20 us, which is what it takes to copy some 100 KiB, and wake
// a thread for it that finds nothing to do. It is the deepest that a message goes in the stack of
// its goroutine: RawSyscall, and that of package unix, would be a frame deeper each.
func call(trap uintptr, fd int, p unsafe.Pointer, n int) (int, error) {
	r, _, errno := syscall.RawSyscall6(trap, uintptr(fd), uintptr(p), uintptr(n), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}
