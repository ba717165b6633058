//go:build linux

package dirfs

import (
	"os"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	super    = &vfs.Cred{}
	somebody = &vfs.Cred{UID: 1001, GID: 1001}
)

// newIn returns the file system of a directory.
func newIn(tb testing.TB, cfg Config) *FS {
	tb.Helper()
	fs, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := fs.Close(); err != nil {
			tb.Error(err)
		}
	})
	return fs
}

// tempDir returns an empty directory of mode 0755.
func tempDir(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// needRoot skips a test that must be able to change the owners of files.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to act for several users")
	}
}

// TestConformance runs the suite with both kinds of handles, and on two file systems of the host,
// which number inodes and directory positions differently. TestConformanceCrossed has the other two
// combinations.
func TestConformance(t *testing.T) {
	needRoot(t)
	bothWays(t, func(t *testing.T, byName bool) {
		conform(t, byName, byName)
	})
}

// conform runs the suite in a directory of the temporary files, or in memory if there is such a
// file system.
func conform(t *testing.T, byName, inMemory bool) {
	t.Helper()
	in := tempDir
	if inMemory && unix.Access(shm, unix.W_OK) == nil {
		in = func(tb testing.TB) string { return tempIn(tb, shm) }
	}
	vfstest.Run(t, func(tb testing.TB) vfs.FS {
		return newIn(tb, Config{Path: in(tb), ByName: byName})
	})
}

const shm = "/dev/shm"

// tempIn returns an empty directory of mode 0755 below parent.
func tempIn(tb testing.TB, parent string) string {
	tb.Helper()
	dir, err := os.MkdirTemp(parent, "dirfs")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return dir
}

var sizes = []int{4 << 10, 64 << 10, 1 << 20}

func create(tb testing.TB, fs *FS, name string) nfs3.FH {
	tb.Helper()
	return createIn(tb, fs, fs.Root(), name)
}

func createIn(tb testing.TB, fs *FS, dir nfs3.FH, name string) nfs3.FH {
	tb.Helper()
	o, _, err := fs.Create(tb.Context(), super, dir, name, &nfs3.CreateHow{Mode: nfs3.Guarded})
	if err != nil {
		tb.Fatal(err)
	}
	return o.File
}

func write(tb testing.TB, fs *FS, h nfs3.FH, off uint64, p []byte) {
	tb.Helper()
	if _, err := fs.Write(tb.Context(), super, h, off, vfstest.Bulk(p), nfs3.Unstable); err != nil {
		tb.Fatal(err)
	}
}
