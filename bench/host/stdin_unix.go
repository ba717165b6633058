//go:build unix

package host

import (
	"os"
	"syscall"
)

// Stdin returns the standard input, set up so that reading it does not block in the kernel.
//
// It avoids a delay in Go 1.26. If a goroutine enters a blocking system call just when another one
// stops the world, as runtime.ReadMemStats does, it can hold that up for a minute:
// stopTheWorldWithSema misses its P, and sysmon sleeps.
func Stdin() *os.File {
	fd := int(os.Stdin.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(uintptr(fd), os.Stdin.Name())
}
