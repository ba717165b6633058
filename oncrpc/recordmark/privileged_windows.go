package recordmark

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// reuse does nothing: to Windows, the option of that name means to take the port from whoever has
// it.
var reuse func(network, address string, c syscall.RawConn) error

// forbidden is never so: any process may have any port.
func forbidden(error) bool { return false }

// taken reports whether another port may do: this one is in use, or kept for another process.
func taken(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || bindFailed(err) && errors.Is(err, windows.WSAEACCES)
}
