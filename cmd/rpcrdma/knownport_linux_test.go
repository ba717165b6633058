package main

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
)

// TestKnownPort: a server listens at its default port, and a client connects by a URL without a
// port. Both use 20049, the port registered for NFS (rpcrdma-10-6, rpcrdma-12-3), without asking
// rpcbind.
func TestKnownPort(t *testing.T) {
	host := rocerig.Addr(t).String() // of this host, and of no other process
	l, err := net.Listen("tcp", host+":20049")
	if errors.Is(err, syscall.EADDRINUSE) {
		t.Skip("there is an NFS server over RDMA on this host")
	} else if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var help strings.Builder
	code := run(t.Context(), []string{"serve", "--help"}, &help, &help)
	if code != 0 || !strings.Contains(help.String(), `(default ":20049")`) {
		t.Errorf("serve does not listen on :20049: %s", &help)
	}
	s := startServe(t, "--listen", host+":20049", "--memory", "/known")
	if s.rdma != host+":20049" {
		t.Fatalf("the server is at %s", s.rdma)
	}
	var out, errs strings.Builder
	ls := []string{"ls", "rdma://" + host + "/"}
	code = run(t.Context(), ls, &out, &errs)
	if code != 0 || !strings.Contains(out.String(), "known") {
		t.Errorf("ls: exit code %d, %q, on standard error %q", code, &out, &errs)
	}
	s.stop()
	code = run(t.Context(), ls, &out, &errs)
	if code == 0 || !strings.Contains(errs.String(), host) {
		t.Errorf("without a server: exit code %d, %q", code, &errs)
	}
}
