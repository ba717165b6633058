//go:build unix

package host

import (
	"syscall"
	"time"
)

// CPUTime returns the user and system time that this process has used. It returns 0 if the system
// does not report it.
func CPUTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
