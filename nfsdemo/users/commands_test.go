//go:build unix

package users

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCommandHangs: a command that hangs, or that waits for others that hang, ends with an error.
func TestCommandHangs(t *testing.T) {
	hang := filepath.Join(t.TempDir(), "getent")
	if err := os.WriteFile(hang, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := &HostDatabase{&commands{getent: hang, id: hang, limit: 50 * time.Millisecond}}
	done := make(chan error, 4*maxProcesses)
	for range cap(done) {
		go func() {
			_, err := h.Groups(1000)
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; !errors.Is(err, errSlow) || errors.Is(err, ErrUnknown) {
			t.Errorf("%v, want %v", err, errSlow)
		}
	}
	if n := len(processes); n != 0 {
		t.Errorf("%d commands are counted", n)
	}
}
