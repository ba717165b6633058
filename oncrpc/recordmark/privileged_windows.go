package recordmark

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// reuse does nothing. On Windows, the option of that name takes the port from its owner.
var reuse func(network, address string, c syscall.RawConn) error

// forbidden always returns false: any process may use any port.
func forbidden(error) bool { return false }

// taken reports whether another port may work: this one is in use or reserved for another process.
func taken(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || bindFailed(err) && errors.Is(err, windows.WSAEACCES)
}
