//go:build interop

package rpcbind

import (
	"fmt"
	"os"
	"testing"
)

// ours is the rpcbind that was started for the tests, nil if there was one already.
var ours *daemon

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if answers() {
		return m.Run()
	}
	restore, err := setAside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer restore()
	if ours, err = start(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot start rpcbind:", err)
		return 1
	}
	defer func() {
		if err := ours.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}
