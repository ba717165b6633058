//go:build !unix && !windows

package recordmark

import "syscall"

// reuse does nothing.
var reuse func(network, address string, c syscall.RawConn) error

// forbidden treats all errors of bind as lack of privilege, because error numbers differ between
// systems.
func forbidden(err error) bool { return bindFailed(err) }

// taken always returns false.
func taken(error) bool { return false }
