//go:build linux

package dirfs

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// TestUnmapped: in a user namespace that does not map the caller's user ID, the caller gets
// NFS3ERR_PERM and the log tells the operator. A caller squashed to a mapped user can create files.
func TestUnmapped(t *testing.T) {
	if dir := os.Getenv("DIRFS_UNMAPPED"); dir != "" {
		testUnmapped(t, dir)
		return
	}
	needRoot(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUnmapped$", "-test.v")
	cmd.Env = append(os.Environ(), "DIRFS_UNMAPPED="+tempDir(t))
	only := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: only,
		GidMappings: only}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestUnmapped")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func testUnmapped(t *testing.T, dir string) {
	var log bytes.Buffer
	f := newIn(t, Config{Path: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, os.Chmod(dir, 0o777))
	ctx, root := t.Context(), f.Root()
	for range 2 {
		_, _, err := f.Create(ctx, somebody, root, "file", &nfs3.CreateHow{})
		_, _, merr := f.Mkdir(ctx, somebody, root, "dir", &nfs3.Sattr{})
		if err != nfs3.ErrPerm || merr != nfs3.ErrPerm {
			t.Errorf("create: %v, mkdir: %v", err, merr)
		}
	}
	h := create(t, f, "squashed")
	to := nfs3.Sattr{UID: nfs3.Set32{Set: true, To: 1001}}
	if _, err := f.SetAttr(ctx, super, h, &to, nil); err != nfs3.ErrPerm {
		t.Errorf("chown: %v", err)
	}
	if o, _, err := f.Lookup(ctx, &vfs.Cred{}, root, "file"); err != nfs3.ErrNoEnt {
		t.Errorf("what could not be given away stays: %+v, %v", o, err)
	}
	if n := strings.Count(log.String(), "squash all users"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}
