//go:build !unix && !windows

package recordmark

import "syscall"

// reuse does nothing.
var reuse func(network, address string, c syscall.RawConn) error

// forbidden takes all errors about the port for a prohibition: the numbers of errors are of each
// system's own.
func forbidden(err error) bool { return bindFailed(err) }

// taken is never so.
func taken(error) bool { return false }
