package words

import (
	"golang.org/x/sys/windows"
)

// Errors of file systems of this host.
const (
	DiskFull      = windows.ERROR_DISK_FULL
	QuotaExceeded = windows.ERROR_DISK_QUOTA_EXCEEDED
)

// Errors of connections. Windows returns others than those of package syscall.
const (
	ConnRefused = windows.WSAECONNREFUSED
	ConnReset   = windows.WSAECONNRESET
	ErrPipe     = windows.WSAECONNABORTED
)
