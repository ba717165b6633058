package nfsserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/dirfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// failingDisk mounts a disk that loses data when it is written back: its image is larger than the
// free space of the file system that holds it.
func failingDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skipf("needs loop devices: %v", err)
	}
	under, dir := t.TempDir(), t.TempDir()
	mount := func(dir string, how func() error) {
		t.Helper()
		if err := how(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	run := func(args ...string) error {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	}
	mount(under, func() error { return unix.Mount("tmpfs", under, "tmpfs", 0, "size=4m") })
	image := filepath.Join(under, "image")
	if err := run("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", image, "64m"); err != nil {
		t.Fatal(err)
	}
	mount(dir, func() error { return run("mount", "-o", "loop", image, dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLostWriteback: if the disk loses data of two clients, both notice: one by the error of its
// COMMIT, the other by a new write verifier.
func TestLostWriteback(t *testing.T) {
	fs, err := dirfs.New(dirfs.Config{Path: failingDisk(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fs.Close() }) // the lost data stays lost
	conn := pipe.New(serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(fs)}}), pipe.Inline)
	one, two := nfsOn(conn, auth(t, 0)), nfsOn(conn, auth(t, 0))
	var made nfs3.CreateRes
	do(t, one, nfs3.ProcCreate, &nfs3.CreateArgs{Where: nfs3.DirOp{Dir: fs.Root(), Name: "file"}}, &made)
	h := made.File.FH
	const size = 8 << 20
	p := make([]byte, 1<<20)
	var firsts, seconds nfs3.WriteRes
	for off := uint64(0); off < size; off += 2 << 20 {
		firsts = writeTo(t, one, h, off, p, nfs3.Unstable)
		seconds = writeTo(t, two, h, off+1<<20, p, nfs3.Unstable)
		if firsts.Status != nfs3.OK || seconds.Status != nfs3.OK || firsts.Verf != seconds.Verf {
			t.Fatalf("%v, %v", firsts.Status, seconds.Status)
		}
	}
	var res nfs3.CommitRes
	if got := do(t, one, nfs3.ProcCommit, &nfs3.CommitArgs{File: h}, &res); got != nfs3.ErrIO && got != nfs3.ErrNoSpc {
		t.Fatalf("the COMMIT that finds it: %v", got)
	}
	res = nfs3.CommitRes{}
	if got := do(t, two, nfs3.ProcCommit, &nfs3.CommitArgs{File: h}, &res); got == nfs3.OK && res.Verf == seconds.Verf {
		t.Error("the other client believes that its data is on disk")
	}
	if again := writeTo(t, one, h, 0, p[:1], nfs3.Unstable); again.Status == nfs3.OK && again.Verf == firsts.Verf {
		t.Error("the verifier is what it was")
	}
}
