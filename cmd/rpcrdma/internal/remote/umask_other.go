//go:build !unix

package remote

import (
	"io/fs"
)

// Umask is what a process has elsewhere.
const Umask fs.FileMode = 0o022
