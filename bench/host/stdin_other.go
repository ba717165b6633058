//go:build !unix

package host

import "os"

// Stdin returns the standard input.
func Stdin() *os.File { return os.Stdin }
