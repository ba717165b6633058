//go:build interop

package sctp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// peerProgram is the executable made from peer/peer.c.
var peerProgram string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sctp-peer-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	peerProgram = filepath.Join(dir, "peer")
	out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", peerProgram,
		"peer/peer.c", "-lusrsctp", "-lpthread").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "gcc peer/peer.c, which needs libusrsctp-dev: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
