//go:build unix

package host

import (
	"syscall"
	"time"
)

// CPUTime returns the user and system time that this process has used; 0 where the system does not
// tell.
func CPUTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
