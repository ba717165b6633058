//go:build !race

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemory: the demo takes no more memory than the file, which its server keeps, and 64 MiB.
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
	// Not the figure of rusage, which begins with that of this process.
	name := filepath.Join(t.TempDir(), "status")
	cmd := exec.CommandContext(t.Context(), self, "demo", path)
	cmd.Env = append(os.Environ(), asCommand+"=1s", statusFile+"="+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var most int64
	if _, err := fmt.Sscan(peak, &most); err != nil {
		t.Fatalf("no peak in\n%s", status)
	}
	most <<= 10 // from KiB
	t.Logf("%d MiB for a file of %d MiB", most>>20, size>>20)
	if most > size+64<<20 {
		t.Errorf("%d MiB for a file of %d MiB", most>>20, size>>20)
	}
}
