package mpa

import (
	"fmt"
	"os"
	"testing"
)

// TestMain fails if a test has left a kept buffer: later tests could then keep one fewer.
func TestMain(m *testing.M) {
	code := m.Run()
	if n := kept.Load(); n != 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "%d buffers are kept by connections that no test has closed\n", n)
		code = 1
	}
	os.Exit(code)
}
