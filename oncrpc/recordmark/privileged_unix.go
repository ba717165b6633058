//go:build unix

package recordmark

import (
	"errors"
	"syscall"
)

// reuse allows a port that other connections use, to other servers, or used a moment ago. There are
// few privileged ports.
func reuse(_, _ string, c syscall.RawConn) error {
	var err error
	if ctlErr := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}); ctlErr != nil {
		return ctlErr
	}
	return err
}

// forbidden reports whether the process lacks the privilege for the port.
func forbidden(err error) bool {
	return bindFailed(err) && (errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM))
}

// taken reports whether another port may work: this one is in use. For a connection to the same
// server, that shows only on connecting.
func taken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)
}
