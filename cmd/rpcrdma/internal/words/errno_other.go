//go:build !windows

package words

import (
	"syscall"
)

// Errors of connections.
const (
	ConnRefused = syscall.ECONNREFUSED
	ConnReset   = syscall.ECONNRESET
	ErrPipe     = syscall.EPIPE
)
