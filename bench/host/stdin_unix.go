//go:build unix

package host

import (
	"os"
	"syscall"
)

// Stdin returns the standard input such that reading it does not block in the kernel. A goroutine
// that enters a system call which blocks just when another one stops the world, as
// runtime.ReadMemStats does, can hold that up for a minute in Go 1.26: stopTheWorldWithSema misses
// its P, and sysmon sleeps.
func Stdin() *os.File {
	fd := int(os.Stdin.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(uintptr(fd), os.Stdin.Name())
}
