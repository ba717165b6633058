//go:build !linux

package host

import (
	"errors"
	"os/exec"
)

var errPinning = errors.New("a process cannot be pinned to CPUs on this system")

// AllowedCPUs fails on this system.
func AllowedCPUs() ([]int, error) { return nil, errPinning }

// startPinned fails, and starts nothing.
func startPinned(*exec.Cmd, ...int) error { return errPinning }

// Pin fails.
func Pin(...int) (undo func() error, err error) { return nil, errPinning }
