//go:build unix

package recordmark

import (
	"errors"
	"syscall"
)

// reuse lets a port be had that other connections have, to other servers, or had a moment ago:
// there are few.
func reuse(_, _ string, c syscall.RawConn) error {
	var err error
	if ctlErr := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}); ctlErr != nil {
		return ctlErr
	}
	return err
}

// forbidden reports whether the process may not have such a port.
func forbidden(err error) bool {
	return bindFailed(err) && (errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM))
}

// taken reports whether another port may do: this one is in use, or, which only the connection
// shows, is so to the same server.
func taken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)
}
