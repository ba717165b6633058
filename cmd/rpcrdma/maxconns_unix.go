//go:build unix

package main

import "golang.org/x/sys/unix"

// mayHaveConns is the MaxConns of the servers of this process.
func mayHaveConns() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return maxConns
	}
	return connsOf(uint64(r.Cur))
}
