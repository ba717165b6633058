// Package served runs the commands rpcrdma serve and gateway in processes of their own, for tests in which others are their clients.
package served

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Server is the command rpcrdma serve.
type Server struct {
	RDMA, TCP int // the ports, on 127.0.0.1

	args []string
	*process
}

// Build builds the command into a directory, and returns its name.
func Build(dir string) (command string, err error) {
	command = filepath.Join(dir, "rpcrdma")
	build := exec.Command("go", "build", "-o", command, "github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	return command, nil
}

// Start starts a server with options on ports that it chooses. It ends with the test, at the latest; if that fails what it has logged is shown.
func Start(t *testing.T, command string, options ...string) *Server {
	t.Helper()
	return StartBy(t, nil, command, options...)
}

// StartBy is Start by a command that runs others, such as setpriv(1).
func StartBy(t *testing.T, by []string, command string, options ...string) *Server {
	t.Helper()
	args := slices.Concat(by, []string{command, "serve"}, options)
	s := &Server{args: args, process: newProcess(t, "server")}
	s.Restart()
	return s
}

// Restart starts it once more, on the same ports.
func (s *Server) Restart() {
	s.t.Helper()
	args := append(s.args, "--listen", fmt.Sprintf("127.0.0.1:%d", s.RDMA), "--mount", fmt.Sprintf("127.0.0.1:%d", s.TCP))
	s.RDMA, s.TCP = 0, 0
	s.start(func(line string) bool {
		before, addr, _ := strings.Cut(line, " on ")
		ap, err := netip.ParseAddrPort(addr)
		switch {
		case err != nil:
		case strings.HasPrefix(before, "NFS over RDMA"):
			s.RDMA = int(ap.Port())
		case strings.HasPrefix(before, "MOUNT and NFS over TCP"): // after the other
			s.TCP = int(ap.Port())
		}
		return s.RDMA != 0 && s.TCP != 0
	}, args...)
}
