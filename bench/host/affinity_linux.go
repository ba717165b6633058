package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxCPUs is the number of bits in a unix.CPUSet.
const maxCPUs = len(unix.CPUSet{}) * 64

// AllowedCPUs returns the CPUs that this process may use, in order.
func AllowedCPUs() ([]int, error) {
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

// startPinned starts cmd on the given CPUs, at least one. A child inherits the CPUs of the thread
// that starts it, so its Go runtime sets GOMAXPROCS to match.
func startPinned(cmd *exec.Cmd, cpus ...int) error {
	runtime.LockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("allowed CPUs: %w", err)
	}
	if err := pin(0, cpus); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	failed := cmd.Start()
	if err := unix.SchedSetaffinity(0, &before); err != nil {
		// The thread stays locked, so that no other goroutine gets it.
		return fmt.Errorf("undoing the pinning to CPU %s: %w", FormatCPUs(cpus), err)
	}
	runtime.UnlockOSThread()
	return failed
}

// pin puts a thread on the given CPUs; thread 0 is this one.
func pin(thread int, cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		return fmt.Errorf("pinning to CPU %s: %w", FormatCPUs(cpus), err)
	}
	return nil
}

// Pin puts all threads of this process on the given CPUs, at least one, and sets GOMAXPROCS to
// match, until undo is called.
func Pin(cpus ...int) (undo func() error, err error) {
	before, err := AllowedCPUs()
	if err != nil {
		return nil, err
	}
	if err := pinThreads(cpus); err != nil {
		return nil, errors.Join(err, pinThreads(before))
	}
	procs := runtime.GOMAXPROCS(len(cpus))
	return func() error {
		runtime.GOMAXPROCS(procs)
		return pinThreads(before)
	}, nil
}

// pinThreads puts all threads of this process on the given CPUs. A thread created meanwhile
// inherits the CPUs of its creator, so it repeats until it finds no new threads.
func pinThreads(cpus []int) error {
	done := make(map[string]bool)
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		news := false
		for _, t := range threads {
			if done[t.Name()] {
				continue
			}
			done[t.Name()], news = true, true
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := pin(id, cpus); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
		}
		if !news {
			return nil
		}
	}
}
