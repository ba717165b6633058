//go:build unix

package daemon

import (
	"math"

	"golang.org/x/sys/unix"
)

// FindRoom returns the Room of this process.
func FindRoom() Room {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return roomOf(math.MaxUint64)
	}
	return roomOf(uint64(r.Cur))
}
