//go:build interop

package kerberos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// peerProgram is the path of the program in peer.
var peerProgram string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kerberos")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	peerProgram = filepath.Join(dir, "peer")
	out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", peerProgram,
		"peer/peer.c", "-lgssapi_krb5").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "gcc peer/peer.c, which needs libkrb5-dev: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
