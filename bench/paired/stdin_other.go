//go:build !unix

package paired

import "os"

func standardInput() *os.File { return os.Stdin }
