package recordmark

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// A process that may not use ports below 1024 gets the error at once.
func TestDialPrivilegedForbidden(t *testing.T) {
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err != nil || strings.TrimSpace(string(b)) != "1024" {
		t.Skipf("ports below 1024 are everybody's here: %q, %v", b, err)
	}
	l := listen(t)
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with its goroutine
		h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&h, &caps[0]); err != nil {
			failed <- err
			return
		}
		caps[0].Effective &^= 1 << unix.CAP_NET_BIND_SERVICE
		if err := unix.Capset(&h, &caps[0]); err != nil {
			failed <- err
			return
		}
		_, err := DialPrivileged(t.Context(), l.Addr().String(), Config{})
		failed <- err
	}()
	if err := hang.Receive(t, "what Dial fails with", failed); !errors.Is(err, ErrNoPrivilegedPort) || !errors.Is(err, syscall.EACCES) {
		t.Errorf("got %v, want ErrNoPrivilegedPort for EACCES", err)
	}
}

// One port can be used to call two servers.
func TestDialFromReuse(t *testing.T) {
	first, err := dialFrom(t.Context(), net.Dialer{}, listen(t).Addr().String(), []int{0})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	port := portOf(first.LocalAddr())
	second, err := dialFrom(t.Context(), net.Dialer{}, listen(t).Addr().String(), []int{port})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := portOf(second.LocalAddr()); got != port {
		t.Errorf("called from port %d, want %d", got, port)
	}
}
