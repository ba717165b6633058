//go:build interop

package linux

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// full makes the tests run everything, which takes long.
var full = flag.Bool("full", false, "all variants of siw in full, 1 GiB each way, and all sizes with one another")

// command is the program rpcrdma.
var command string

// TestMain builds the command, and the guest if there is none, so that no test's time includes
// this. Then it runs the tests in a new network namespace.
func TestMain(m *testing.M) {
	flag.Parse()
	if command = os.Getenv(commandEnv); command != "" {
		os.Exit(runTests(m))
	}
	os.Exit(run())
}

func run() int {
	build := exec.Command("./build")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the guest:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "rpcrdma")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if command, err = served.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the command:", err)
		return 1
	}
	return runInNamespace()
}
