//go:build interop

package nss

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// build builds the command as a release has it, so that the compiled packages are those of the
// gate's release.
func build(t *testing.T) (command string) {
	t.Helper()
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOFLAGS", "-trimpath -buildvcs=false -ldflags=-s")
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// run runs a command and returns what it prints.
func run(args ...string) (string, error) {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	return string(out), err
}

// TestServe: a build without cgo knows a user of the module, by number for --manage-gids, and
// by name for --anonuid.
func TestServe(t *testing.T) {
	command := build(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("for folk\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 0, 70003); err != nil {
		t.Fatal(err)
	}
	s := served.Start(t, command, "--export", "/export="+dir, "--memory", "/memory", "--manage-gids",
		"--anonuid", "eva", "--anongid", "folk")
	url := fmt.Sprintf("rdma://127.0.0.1:%d/", s.RDMA)
	for _, uid := range []string{"70001", "eva"} {
		out, err := run(command, "cat", "--uid", uid, "--gid", "70002", "--groups=", url+"export/file")
		if err != nil || out != "for folk\n" {
			t.Errorf("user %s reads: %s, %v", uid, out, err)
		}
	}
	out, err := run(command, "cat", "--uid", "70004", "--gid", "70002", "--groups=70003",
		url+"export/file")
	if err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("a user whom nobody knows reads: %s, %v", out, err)
	}
	// Root, who is squashed to eva, makes a file.
	out, err = run(command, "touch", "--uid", "0", url+"memory/made")
	if err != nil {
		t.Errorf("touch: %s, %v", out, err)
	}
	out, err = run(command, "ls", "-l", url+"memory/")
	if err != nil || !strings.Contains(out, " eva ") || !strings.Contains(out, " folk ") {
		t.Errorf("the anonymous user: %s, %v", out, err)
	}
}

// TestNoGroupFile: where there is /etc/passwd and neither getent nor /etc/group, as in a container,
// a user has the primary group alone.
func TestNoGroupFile(t *testing.T) {
	command, etc := build(t), t.TempDir()
	err := os.WriteFile(filepath.Join(etc, "passwd"), []byte("eva:x:70001:70002::/:/bin/sh\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	s := served.Start(t, command, "--memory", "/memory", "--squash", "none")
	const script = `mount --bind "$1" /etc; PATH=; "$2" touch --uid eva "$3"`
	out, err := run("unshare", "-m", "sh", "-ec", script, "sh", etc, command,
		fmt.Sprintf("rdma://127.0.0.1:%d/memory/made", s.RDMA))
	if err != nil {
		t.Errorf("touch: %s, %v", out, err)
	}
}

// TestPrincipals: a principal of a realm, and one in a map, are the user of the module.
func TestPrincipals(t *testing.T) {
	m, err := users.ParseMap(strings.NewReader("nfs/host@OTHER eva\n"))
	if err == nil {
		err = m.Check(users.Host())
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := users.NewPrincipals(users.Config{Realms: []string{"TEST"}, Map: m})
	if err != nil {
		t.Fatal(err)
	}
	for _, principal := range []string{"eva@TEST", "nfs/host@OTHER"} {
		c, err := p.User(t.Context(), nil, principal)
		if err != nil || c == nil || c.UID != 70001 || c.GID != 70002 ||
			!slices.Equal(c.GIDs, []uint32{70002, 70003}) {
			t.Errorf("%s: %+v, %v", principal, c, err)
		}
	}
}
