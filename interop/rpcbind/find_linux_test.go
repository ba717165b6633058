//go:build interop

package rpcbind

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// On a host without rpcbind, serve takes port 111 over RDMA, where the command finds it. The host
// is a network namespace.
func TestFindRDMA(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // and the thread ends with the test, as it is not unlocked
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	served.Start(t, command, "--memory", "/export", "--rdma-rpcbind", ":111")
	for _, scheme := range []string{"rdma", "tcp"} {
		if got, err := list(command, scheme); err != nil || got != "/export\n" {
			t.Errorf("%s: got %s, %v, want /export", scheme, got, err)
		}
	}
}
