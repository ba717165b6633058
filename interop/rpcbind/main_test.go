//go:build interop

package rpcbind

import (
	"fmt"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/portmapper"
)

// ours is the rpcbind started for the tests; nil if one was running already.
var ours *portmapper.Daemon

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	d, done, err := portmapper.Use()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ours = d
	defer func() {
		if err := done(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}
