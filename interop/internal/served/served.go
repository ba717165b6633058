// Package served runs the commands rpcrdma serve and gateway in processes of their own, for tests
// of other clients.
package served

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Server is the command rpcrdma serve.
type Server struct {
	RDMA, TCP int // the ports

	SCTP    int    // the UDP port that carries SCTP, if there is one
	Metrics string // HOST:PORT, with --metrics

	host string
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

// Start starts a server with options on ports that it chooses. It ends with the test, at the
// latest; if that fails what it has logged is shown.
func Start(t *testing.T, command string, options ...string) *Server {
	t.Helper()
	return StartBy(t, nil, command, options...)
}

// StartAt is Start at another address than 127.0.0.1, on the ports that the command has by default.
func StartAt(t *testing.T, host netip.Addr, command string, options ...string) *Server {
	t.Helper()
	return StartOn(t, host, 20049, 20048, command, options...)
}

// StartOn is Start at an address and on ports; 0 is any.
func StartOn(t *testing.T, host netip.Addr, rdma, tcp int, command string, options ...string) *Server {
	t.Helper()
	s := newServer(t, host, slices.Concat([]string{command, "serve"}, options))
	s.RDMA, s.TCP = rdma, tcp
	s.Restart()
	return s
}

// StartBy is Start by a command that runs others, such as setpriv(1).
func StartBy(t *testing.T, by []string, command string, options ...string) *Server {
	t.Helper()
	local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	s := newServer(t, local, slices.Concat(by, []string{command, "serve"}, options))
	s.Restart()
	return s
}

func newServer(t *testing.T, host netip.Addr, args []string) *Server {
	return &Server{host: host.String(), args: args, process: newProcess(t, "server")}
}

// Restart starts it once more, on the same ports.
func (s *Server) Restart() {
	s.t.Helper()
	at := func(port int) string { return net.JoinHostPort(s.host, strconv.Itoa(port)) }
	args := append(s.args, "--listen", at(s.RDMA), "--mount", at(s.TCP))
	s.RDMA, s.TCP, s.Metrics = 0, 0, ""
	monitored := slices.Contains(args, "--metrics")
	s.start(func(line string) bool {
		before, addr, _ := strings.Cut(line, " on ")
		if url, ok := strings.CutPrefix(addr, "http://"); ok && before == "metrics" {
			s.Metrics, _, _ = strings.Cut(url, "/") // after the others
		}
		addr, udp, _ := strings.Cut(addr, ", in UDP port ")
		ap, err := netip.ParseAddrPort(addr)
		switch {
		case err != nil:
		case strings.HasPrefix(before, "NFS over RDMA"):
			s.RDMA = int(ap.Port())
			s.SCTP, _ = strconv.Atoi(udp)
		case strings.HasPrefix(before, "MOUNT and NFS over TCP"): // after those for RDMA
			s.TCP = int(ap.Port())
		}
		return s.RDMA != 0 && s.TCP != 0 && (!monitored || s.Metrics != "")
	}, args...)
}
