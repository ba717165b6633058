//go:build !unix

package main

import "io/fs"

// umask is what a process has elsewhere.
const umask fs.FileMode = 0o022
