//go:build !unix

package main

// mayHaveConns is the MaxConns of the servers of this process.
func mayHaveConns() int { return maxConns }
