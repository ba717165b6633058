//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// umask is that of this process. It can only be read by changing it, so that is done while nothing else goes on.
var umask = func() fs.FileMode {
	m := syscall.Umask(0o022)
	syscall.Umask(m)
	return fs.FileMode(m) & fs.ModePerm
}()
