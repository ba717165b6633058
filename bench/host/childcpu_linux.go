package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// processCPU returns the user and system time that a process has used, or 0 if it has ended. This
// clock is exact, unlike the ticks in /proc.
func processCPU(pid int) time.Duration {
	const scheduler = 2 // CPUCLOCK_SCHED in clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
