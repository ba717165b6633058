//go:build unix

package treemodel_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/treemodel"
)

// A local directory matches the model, and changes made without the model are noticed.
func TestLocal(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := t.TempDir()
	seed := rand.Uint64()
	m, f := treemodel.New(seed, 1), treemodel.Local(dir)
	for n := range 3000 {
		if err := m.Step(f); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, n, err)
		}
	}
	if err := m.Compare(f); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	again, err := treemodel.Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Compare(f); err != nil {
		t.Errorf("seed %d, saved: %v", seed, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again.Compare(f); err == nil {
		t.Error("a file that nobody has made was not noticed")
	}
}
