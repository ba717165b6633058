//go:build unix

package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for _, flag := range []string{"--listen", "--mount"} {
		args := []string{"serve", "--memory", "/m", "--listen", "127.0.0.1:0", "--mount",
			"127.0.0.1:0", flag, taken}
		code, stdout, stderr := execute(t, args...)
		want := "rpcrdma: " + flag + " " + taken + ": address already in use; another server may have it: choose another port with " + flag + "\n"
		if code != cli.ExitFailed || stdout != "" || stderr != want {
			t.Errorf("exit %d, %q, %q, want %q", code, stdout, stderr, want)
		}
	}
}

// startProcess runs serve in its own process. For the time repeat, further signals count as the
// first.
func startProcess(t *testing.T, repeat string, args ...string) (*serveCommand, *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &serveCommand{stdout: newTranscript(), stderr: newTranscript(), over: make(chan struct{})}
	cmd := exec.Command(self, append([]string{"serve", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"="+repeat)
	cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.over)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-s.over
	})
	s.greet(t)
	return s, cmd
}

// TestServeProcessFails: the process has the exit code of the command.
func TestServeProcessFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{
		"serve": cli.ExitUsage,
		"serve --export /e=/nonexistent/export --listen 127.0.0.1:0 --mount none": cli.ExitFailed,
	} {
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Env = append(os.Environ(), asCommand+"=1s")
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("%s: %v, want %d", args, err, want)
		}
	}
}
