// Package served runs the command rpcrdma serve in a process of its own, for tests in which others are its clients.
package served

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a server may take to come up, and to go away.
const startLimit = 30 * time.Second

// Server is the command.
type Server struct {
	RDMA, TCP int // the ports, on 127.0.0.1

	t    *testing.T
	args []string
	log  string // the file for its standard error
	cmd  *exec.Cmd
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
	s := &Server{t: t, args: append([]string{command, "serve"}, options...), log: filepath.Join(t.TempDir(), "log")}
	s.Restart()
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			b, err := os.ReadFile(s.log)
			t.Logf("the server's messages (error %v):\n%s", err, b[max(0, len(b)-10_000):])
		}
	})
	return s
}

// Restart starts it once more, on the same ports.
func (s *Server) Restart() {
	s.t.Helper()
	args := append(s.args, "--listen", fmt.Sprintf("127.0.0.1:%d", s.RDMA), "--mount", fmt.Sprintf("127.0.0.1:%d", s.TCP))
	s.cmd = exec.Command(args[0], args[1:]...)
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	// One that hangs is ended, which ends its output.
	timeout := time.AfterFunc(startLimit, s.kill)
	defer timeout.Stop()
	s.RDMA, s.TCP = 0, 0
	for lines := bufio.NewScanner(out); s.TCP == 0 && lines.Scan(); {
		before, addr, _ := strings.Cut(lines.Text(), " on ")
		ap, err := netip.ParseAddrPort(addr)
		switch {
		case err != nil:
		case strings.HasPrefix(before, "NFS over RDMA"):
			s.RDMA = int(ap.Port())
		case strings.HasPrefix(before, "MOUNT and NFS over TCP"): // after the other
			s.TCP = int(ap.Port())
		}
	}
	if s.RDMA == 0 || s.TCP == 0 {
		s.Kill()
		b, err := os.ReadFile(s.log)
		s.t.Fatalf("the server did not come up (error %v):\n%s", err, b)
	}
}

// Kill ends the server as a crash would, if it has not ended.
func (s *Server) Kill() {
	if s.cmd.ProcessState == nil {
		s.kill()
		_ = s.cmd.Wait() // that it was killed
	}
}

// kill signals a process that may have ended meanwhile.
func (s *Server) kill() { _ = s.cmd.Process.Kill() }

// Stop has the server end in order, and returns the processor time that it took since it was started.
func (s *Server) Stop() time.Duration {
	s.t.Helper()
	timeout := time.AfterFunc(startLimit, s.kill)
	defer timeout.Stop()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with: %v", err)
	}
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}
