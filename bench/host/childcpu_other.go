//go:build !linux

package host

import "time"

// processCPU returns 0 on this system.
func processCPU(int) time.Duration { return 0 }
