//go:build !linux

package paired

import (
	"errors"
	"os/exec"
)

var errPinning = errors.New("a process cannot be pinned to a CPU on this system")

func allowedCPUs() ([]int, error) { return nil, errPinning }

func startPinned(*exec.Cmd, int) error { return errPinning }
