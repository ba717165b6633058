//go:build unix

package remote

import (
	"io/fs"
	"syscall"
)

// Umask is that of this process. It can only be read by changing it, so that is done while nothing
// else goes on.
var Umask = func() fs.FileMode {
	m := syscall.Umask(0o022)
	syscall.Umask(m)
	return fs.FileMode(m) & fs.ModePerm
}()
