package words

import (
	"golang.org/x/sys/windows"
)

// Errors of file systems of this host.
const (
	DiskFull      = windows.ERROR_DISK_FULL
	QuotaExceeded = windows.ERROR_DISK_QUOTA_EXCEEDED
)

// Errors of connections. Those of package syscall are none that Windows returns.
const (
	ConnRefused = windows.WSAECONNREFUSED
	ConnReset   = windows.WSAECONNRESET
	ErrPipe     = windows.WSAECONNABORTED
)
