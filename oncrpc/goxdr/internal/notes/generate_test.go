package notes

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The committed code is what the compiler generates from notes.x.
func TestGenerated(t *testing.T) {
	source, err := os.ReadFile("notes.x")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.go")
	if err := os.WriteFile(filepath.Join(dir, "notes.x"), source, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "xdr_compiler", "-I", dir, "notes.x", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	unformatted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := format.Source(unformatted)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("notes.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("notes.go is not what the compiler makes of notes.x: go generate")
	}
}
