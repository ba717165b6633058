package rig

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TreeOf describes what is in a directory of this host, sorted, a line for each file:
//
//	drwxr-xr-x "dir"
//	-rw-r--r-- "dir/file" "content"
//	-rw-r--r-- "dir/long" 70000 bytes, SHA-256 0a1b2c3d
//	L "dir/link" -> "target"
func TreeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		i, err := e.Info()
		if err != nil {
			return err
		}
		if i.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			fmt.Fprintf(&b, "L %q -> %q\n", name, target)
			return err
		}
		fmt.Fprintf(&b, "%v %q", i.Mode(), name)
		if i.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(data) > 60 {
				fmt.Fprintf(&b, " %d bytes, SHA-256 %.4x", len(data), sha256.Sum256(data))
			} else {
				fmt.Fprintf(&b, " %q", data)
			}
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Write makes a file of this host.
func Write(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Holds fails the test unless a file of this host has the given content.
func Holds(t *testing.T, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, want %d others", name, len(got), len(want))
	}
}

// Pattern is data that differs at every offset.
func Pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*i>>3 + i)
	}
	return p
}
