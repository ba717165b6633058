//go:build !unix

package remote

import (
	"io/fs"
)

// Umask is the usual umask.
const Umask fs.FileMode = 0o022
