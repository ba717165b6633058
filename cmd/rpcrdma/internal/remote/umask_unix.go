//go:build unix

package remote

import (
	"io/fs"
	"syscall"
)

// Umask is the umask of this process. It can only be read by changing it, so it is read during
// initialization.
var Umask = func() fs.FileMode {
	m := syscall.Umask(0o022)
	syscall.Umask(m)
	return fs.FileMode(m) & fs.ModePerm
}()
