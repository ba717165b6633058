//go:build !windows

package main

import "syscall"

// Errors of connections.
const (
	connRefused = syscall.ECONNREFUSED
	connReset   = syscall.ECONNRESET
	errPipe     = syscall.EPIPE
)
