//go:build !mpaportable

package mpa

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vector is a list of pieces in the system's form. It is kept: unix.Writev would allocate one each
// time.
type vector struct{ iov []unix.Iovec }

// write makes one writev: it writes as much of pieces as the socket takes.
func (v *vector) write(fd int, pieces [][]byte) (int, error) {
	return v.do(unix.SYS_WRITEV, fd, pieces)
}

// read makes one readv: it fills pieces with what the socket has.
func (v *vector) read(fd int, pieces [][]byte) (int, error) {
	return v.do(unix.SYS_READV, fd, pieces)
}

// readOnce fills p with what the socket has.
func readOnce(fd int, p []byte) (int, error) {
	return call(unix.SYS_READ, fd, unsafe.Pointer(unsafe.SliceData(p)), len(p))
}

// writeOnce writes as much of p as the socket takes.
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

// call makes a system call that does not block, without telling the scheduler. If the scheduler
// knew, it would take away the processor after 20 us, the time to copy some 100 KiB, and wake up a
// thread that finds nothing to do. RawSyscall, or the call of package unix, would add a frame to
// the stack, and this is the deepest point of a message's path.
func call(trap uintptr, fd int, p unsafe.Pointer, n int) (int, error) {
	r, _, errno := syscall.RawSyscall6(trap, uintptr(fd), uintptr(p), uintptr(n), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}
