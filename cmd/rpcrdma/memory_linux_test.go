//go:build !race

// The race detector multiplies memory.

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMemory: the demo takes the size of the file, which its server keeps, and 64 MiB.
func TestMemory(t *testing.T) {
	const size = 256 << 20
	path := filepath.Join(t.TempDir(), "large")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "demo", path)
	cmd.Env = append(os.Environ(), asCommand+"=1s")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 // KiB on Linux
	t.Logf("%d MiB for a file of %d MiB", most>>20, size>>20)
	if most > size+64<<20 {
		t.Errorf("%d MiB for a file of %d MiB", most>>20, size>>20)
	}
}
