package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestServeDirectory: files that clients write are in the directory.
func TestServeDirectory(t *testing.T) {
	dir := t.TempDir()
	s := startServe(t, "--export", "/export="+dir, "--squash", "none")
	if want := "serving /export (directory " + dir + ", read-write, no squashing"; !strings.HasPrefix(s.greeting, want) {
		t.Errorf("got\n%swant at its beginning\n%s", s.greeting, want)
	}
	if want := ", to be mounted again after a restart)\n"; !strings.Contains(s.greeting, want) {
		t.Errorf("no %q in\n%s", want, s.greeting)
	}
	data := rig.Pattern(1<<20 + 3)
	exchange(t, s, data)
	if code := s.stop(); code != cli.ExitOK {
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

// TestServeState: with the state of an earlier run, its handles are good, for two exports. Without
// it, and after --revoke-keys, even if that run did not have the export, and a link leads to its
// state, they are stale.
func TestServeState(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	state := filepath.Join(t.TempDir(), "var", "state") // does not exist yet
	uid := uint32(os.Getuid())
	args := []string{"--export", "/a=" + a, "--export", "/b/c=" + b, "--squash", "none"}

	s := startServe(t, append(args, "--state", state)...)
	if got := strings.Count(s.greeting, ", handles kept in "+state+")\n"); got != 2 {
		t.Errorf("handles of %d exports are kept, want 2:\n%s", got, s.greeting)
	}
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

	ofB, elsewhere := filepath.Join(state, "%2Fb%2Fc"), filepath.Join(t.TempDir(), "b")
	if err := errors.Join(os.Rename(ofB, elsewhere), os.Symlink(elsewhere, ofB)); err != nil {
		t.Fatal(err)
	}
	startServe(t, "--export", "/a="+a, "--state", state, "--revoke-keys").stop()
	for what, args := range map[string][]string{
		"revoked": append(args, "--state", state), "without the state": args,
	} {
		s = startServe(t, args...)
		m = mountAs(t, dialRDMA(t, s.rdma), uid, "/a")
		for _, h := range []nfs3.FH{inA, inB} {
			_, err := m.GetAttr(t.Context(), h)
			if !errors.Is(err, nfs3.ErrStale) && !errors.Is(err, nfs3.ErrBadHandle) {
				t.Errorf("%s: %v", what, err)
			}
		}
		s.stop()
	}
}

// TestServeSameFiles: exports that share files are served with a warning, also if they do by a
// symbolic link.
func TestServeSameFiles(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	link := filepath.Join(other, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--export", "/a="+dir, "--export", "/b="+link, "--export", "/c="+other, "--memory", "/m")
	want := `level=WARN msg="two exports share files: the rules of each one hold for its own clients" one=/a other=/b`
	if got := s.stderr.String(); strings.Count(got, want) != 1 || strings.Count(got, "WARN") != 1 {
		t.Errorf("want once %s\n%s", want, got)
	}
}

// TestServeStateInTheWay: errors tell unusable state from an unusable directory.
func TestServeStateInTheWay(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	args := []string{"serve", "--listen", "127.0.0.1:0", "--mount", "none", "--export", "/e=" + dir, "--state", state}
	s := startServe(t, args[5:]...)
	code, _, stderr := execute(t, args...)
	if want := "rpcrdma: --state " + state + ": "; code != cli.ExitFailed || !strings.HasPrefix(stderr, want) || !strings.HasSuffix(stderr, "; name another --state, and have clients mount again\n") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	s.stop()
}
