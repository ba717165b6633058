package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestServeDirectory: what clients write is in the directory.
func TestServeDirectory(t *testing.T) {
	dir := t.TempDir()
	s := startServe(t, "--export", "/export="+dir, "--squash", "none")
	if want := "serving /export (directory " + dir + ", read-write, nobody squashed)\n"; !strings.HasPrefix(s.greeting, want) {
		t.Errorf("got\n%swant at its beginning\n%s", s.greeting, want)
	}
	data := pattern(1<<20 + 3)
	exchange(t, s, data)
	if code := s.stop(); code != exitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
	for _, name := range []string{"up", "down"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s has %d bytes, not the %d that were written: %v", name, len(got), len(data), err)
		}
	}
}

func TestServeDirectoryReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--export", "/export="+dir, "--read-only", "--squash", "none")
	m := mountAs(t, dialRDMA(t, s.rdma), uint32(os.Getuid()), "/export")
	if _, err := m.Create(t.Context(), m.root, "new", nfs3.CreateHow{}); !errors.Is(err, nfs3.ErrROFS) {
		t.Errorf("CREATE: %v, want %v", err, nfs3.ErrROFS)
	}
	o, err := m.Lookup(t.Context(), m.root, "file")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.get(t, o.File); string(got) != "text" {
		t.Errorf("the file has %q", got)
	}
}

// TestServeState: with the state of an earlier run, handles of that run are good, of two exports beside one another; without, and
// for another export, they are stale.
func TestServeState(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	state := filepath.Join(t.TempDir(), "var", "state") // to be made
	uid := uint32(os.Getuid())
	args := []string{"--export", "/a=" + a, "--export", "/b/c=" + b, "--squash", "none"}

	s := startServe(t, append(args, "--state", state)...)
	conn := dialRDMA(t, s.rdma)
	inA := mountAs(t, conn, uid, "/a").put(t, "file", []byte("in a"))
	inB := mountAs(t, conn, uid, "/b/c").put(t, "file", []byte("in b"))
	s.stop()

	for _, dir := range []string{state, filepath.Join(state, "%2Fa"), filepath.Join(state, "%2Fb%2Fc")} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode(); mode.Perm() != 0o700 {
			t.Errorf("%s has mode %v, want 0700", dir, mode)
		}
	}

	s = startServe(t, append(args, "--state", state)...)
	m := mountAs(t, dialRDMA(t, s.rdma), uid, "/a")
	for _, tt := range []struct {
		h    nfs3.FH
		want string
	}{{inA, "in a"}, {inB, "in b"}} {
		if got := m.get(t, tt.h); string(got) != tt.want {
			t.Errorf("after a restart the handle has %q, want %q", got, tt.want)
		}
	}
	s.stop()

	s = startServe(t, args...)
	m = mountAs(t, dialRDMA(t, s.rdma), uid, "/a")
	if _, err := m.GetAttr(t.Context(), inA); !errors.Is(err, nfs3.ErrStale) && !errors.Is(err, nfs3.ErrBadHandle) {
		t.Errorf("without the state: %v", err)
	}
}
