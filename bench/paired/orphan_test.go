package paired

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

const (
	coordinatorVariable = "BENCH_TEST_COORDINATOR" // makes this binary a coordinator
	reportVariable      = "BENCH_TEST_REPORT"      // the address that fake/watched connects to
)

// coordinate runs a comparison that never ends.
func coordinate() {
	_, err := Compare(context.Background(), quick(), "fake/plain", "fake/watched")
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestOrphans kills a coordinator while its client is busy and its server is not. Both children
// end, which closes their connections to this test.
func TestOrphans(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr host.Tail
	coordinator := exec.CommandContext(t.Context(), path)
	coordinator.Env = append(os.Environ(), coordinatorVariable+"=1", reportVariable+"="+l.Addr().String())
	coordinator.Stderr = &stderr
	if err := coordinator.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	l.(*net.TCPListener).SetDeadline(deadline)
	var children [2]net.Conn
	for i := range children {
		if children[i], err = l.Accept(); err != nil {
			t.Error("child does not connect:", err)
			break
		}
		defer children[i].Close()
		children[i].SetDeadline(deadline)
	}
	coordinator.Process.Kill()
	coordinator.Wait()
	if t.Failed() {
		t.Fatalf("the coordinator: %v\n%s", coordinator.ProcessState, stderr.String())
	}
	for _, c := range children {
		if _, err := c.Read(make([]byte, 1)); err != io.EOF && !isReset(err) {
			t.Error("a child lives on:", err)
		}
	}
}

// isReset reports whether err results from a process that ended without closing its connection.
func isReset(err error) bool {
	ne, ok := err.(net.Error)
	return ok && !ne.Timeout()
}
