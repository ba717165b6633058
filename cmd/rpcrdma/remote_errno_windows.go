package main

import "golang.org/x/sys/windows"

// Errors of connections. Those of package syscall are none that Windows returns.
const (
	connRefused = windows.WSAECONNREFUSED
	connReset   = windows.WSAECONNRESET
	errPipe     = windows.WSAECONNABORTED
)
