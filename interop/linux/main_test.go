//go:build interop

package linux

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestMain builds the guest, if it is not there, so that this takes no test's time.
func TestMain(m *testing.M) {
	build := exec.Command("./build")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the guest:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
