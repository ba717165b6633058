//go:build !windows

package words

import (
	"syscall"
)

// Errors of file systems of this host.
const (
	DiskFull      = syscall.ENOSPC
	QuotaExceeded = syscall.EDQUOT
)

// Errors of connections.
const (
	ConnRefused = syscall.ECONNREFUSED
	ConnReset   = syscall.ECONNRESET
	ErrPipe     = syscall.EPIPE
)
