//go:build !unix

package daemon

// MayHaveConns is the MaxConns of the servers of this process.
func MayHaveConns() int { return maxConns }
