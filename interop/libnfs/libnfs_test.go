//go:build interop

package libnfs

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// limit is when a hanging program is killed.
const limit = 30 * time.Second

// exports are the server's exports. The last is inside another one. When libnfs mounts the outer
// one, it asks for the list of exports, and serves the files below the inner path from there.
var exports = []string{"/memory", "/directory", "/directory/nested"}

// libnfs copies files to the server, lists and reads them, on exports of each kind.
func TestFiles(t *testing.T) {
	s, dir := serve(t)
	sizes := []int{0, 1, 5000, 300_001, 5<<20 + 3}
	for _, export := range exports {
		t.Run(export, func(t *testing.T) {
			var want strings.Builder
			for _, size := range sizes {
				data := make([]byte, size)
				rand.NewChaCha8([32]byte{byte(size)}).Read(data)
				name := fmt.Sprintf("file-of-%d", size)
				fmt.Fprintf(&want, "%d %s\n", size, name)
				local := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(local, data, 0o600); err != nil {
					t.Fatal(err)
				}
				url := url(s, export, name)
				libnfs(t, "nfs-cp", local, url)
				if got := libnfs(t, "nfs-cat", url); !bytes.Equal(got, data) {
					t.Errorf("nfs-cat %s: %d bytes, other than the %d that were copied", name, len(got), size)
				}
				back := local + ".back"
				libnfs(t, "nfs-cp", url, back)
				if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, data) {
					t.Errorf("nfs-cp %s: %d bytes, error %v, want the %d that were copied", name, len(got), err, size)
				}
				if export == "/directory" {
					if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
						t.Errorf("the directory has %d bytes of %s, error %v, want the %d that were copied", len(got), name, err, size)
					}
				}
			}
			if got := listed(t, url(s, export, "")); got != sorted(want.String()) {
				t.Errorf("nfs-ls lists\n%swant\n%s", got, sorted(want.String()))
			}
		})
	}
	// What went to the export below is not in the directory of the other.
	if entries, err := os.ReadDir(filepath.Join(dir, "nested")); err != nil || len(entries) > 0 {
		t.Errorf("the directory that an export hides has %v, error %v", entries, err)
	}
	s.Stop()
}

// A missing file is reported as missing.
func TestMissing(t *testing.T) {
	s, _ := serve(t)
	for _, tt := range []struct{ name, url, want string }{
		{"file", url(s, "/memory", "nothing"), "NFS3ERR_NOENT"},
		{"export", url(s, "/nowhere", "file"), "MNT3ERR_NOENT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			out, err := exec.CommandContext(ctx, "nfs-cat", tt.url).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("nfs-cat: error %v, it says %q, want %s", err, out, tt.want)
			}
		})
	}
	s.Stop()
}

// serve starts a server, and returns it and the directory behind /directory.
func serve(t *testing.T) (s *served.Server, dir string) {
	t.Helper()
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "nested"), 0o755); err != nil {
		t.Fatal(err)
	}
	return served.Start(t, command, "--memory", exports[0], "--export", exports[1]+"="+dir, "--memory", exports[2], "--squash", "none"), dir
}

// url returns libnfs's URL of a file in an export. It needs no rpcbind.
func url(s *served.Server, export, name string) string {
	if mount, nested, ok := strings.Cut(export[1:], "/"); ok {
		export, name = "/"+mount, nested+"/"+name
	}
	return fmt.Sprintf("nfs://127.0.0.1%s/%s?nfsport=%d&mountport=%[3]d", export, name, s.TCP)
}

// libnfs runs one of the programs, which must succeed, and returns its output.
func libnfs(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s (apt-get install libnfs-utils): %v\n%s", cmd, err, stderr.String())
	}
	return out
}

// listed returns sizes and names of the files in a directory.
func listed(t *testing.T, url string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(string(libnfs(t, "nfs-ls", url))) {
		f := strings.Fields(line)
		if len(f) != 6 {
			t.Fatalf("nfs-ls: %q", line)
		}
		if f[0][0] == '-' {
			fmt.Fprintln(&b, f[4], f[5])
		}
	}
	return sorted(b.String())
}

// sorted sorts lines.
func sorted(s string) string {
	return strings.Join(slices.Sorted(strings.Lines(s)), "")
}
