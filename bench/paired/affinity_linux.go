package paired

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// maxCPUs is the number of bits in a unix.CPUSet.
const maxCPUs = len(unix.CPUSet{}) * 64

// allowedCPUs returns the CPUs that this process may use, in order.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("allowed CPUs: %w", err)
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// startPinned starts cmd on one CPU. A child inherits the CPUs of the thread that starts it, so its
// Go runtime sees a single one and sets GOMAXPROCS to match.
func startPinned(cmd *exec.Cmd, cpu int) error {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("allowed CPUs: %w", err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("pinning to CPU %d: %w", cpu, err)
	}
	failed := cmd.Start()
	if err := unix.SchedSetaffinity(0, &before); err != nil {
		// The thread stays locked, so that nobody else gets it.
		return fmt.Errorf("undoing the pinning to CPU %d: %w", cpu, err)
	}
	runtime.UnlockOSThread()
	return failed
}
