//go:build unix

package daemon

import (
	"golang.org/x/sys/unix"
)

// MayHaveConns is the MaxConns of the servers of this process.
func MayHaveConns() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return maxConns
	}
	return connsOf(uint64(r.Cur))
}
