package words

import (
	"golang.org/x/sys/windows"
)

// Errors of connections. Those of package syscall are none that Windows returns.
const (
	ConnRefused = windows.WSAECONNREFUSED
	ConnReset   = windows.WSAECONNRESET
	ErrPipe     = windows.WSAECONNABORTED
)
