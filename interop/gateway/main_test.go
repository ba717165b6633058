//go:build interop

package gateway

import (
	"fmt"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/portmapper"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// command is the name of rpcrdma.
var command string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gateway")
	if err == nil {
		defer os.RemoveAll(dir)
		command, err = served.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, done, err := portmapper.Use()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := done(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}
