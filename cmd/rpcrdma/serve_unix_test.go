//go:build unix

package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for _, flag := range []string{"--listen", "--mount"} {
		args := []string{"serve", "--memory", "/m", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0", flag, taken}
		code, stdout, stderr := execute(t, args...)
		want := "rpcrdma: " + flag + " " + taken + ": address already in use; another server? choose a port with " + flag + "\n"
		if code != exitFailed || stdout != "" || stderr != want {
			t.Errorf("exit %d, %q, %q, want %q", code, stdout, stderr, want)
		}
	}
}

// startProcess runs serve in a process of its own.
func startProcess(t *testing.T, args ...string) (*serving, *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{stdout: newTranscript(), stderr: newTranscript(), over: make(chan struct{})}
	cmd := exec.Command(self, append([]string{"serve", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
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

func send(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// TestServeSignal: either signal ends an idle server in order.
func TestServeSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s, cmd := startProcess(t, "--memory", "/export")
		m := mountAs(t, dialRDMA(t, s.rdma), 0, "/export")
		want := pattern(300_001)
		if got := m.get(t, m.put(t, "file", want)); !bytes.Equal(got, want) {
			t.Errorf("got %d bytes that are not the %d that were written", len(got), len(want))
		}
		send(t, cmd, sig)
		<-s.over
		if code := cmd.ProcessState.ExitCode(); code != exitOK || !strings.HasSuffix(s.stderr.String(), "msg=drained\n") {
			t.Errorf("%v: %v: %v", sig, cmd.ProcessState, s.stderr)
		}
	}
}

// TestServeSecondSignal ends the process at once, though a call is under way.
func TestServeSecondSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s, cmd := startProcess(t, "--memory", "/export")
		g := newGate(t, s.rdma)
		result := callUnderWay(t, g)
		send(t, cmd, sig)
		s.stderr.await("msg=draining", s.over)
		send(t, cmd, sig)
		<-s.over
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != sig {
			t.Errorf("%v, want it ended by %v: %v", cmd.ProcessState, sig, s.stderr)
		}
		if got := s.stderr.String(); strings.Contains(got, "msg=drained") {
			t.Errorf("it has drained: %s", got)
		}
		close(g.let)
		if err := <-result; err == nil {
			t.Error("the call under way was answered")
		}
	}
}

// TestServeProcessFails: the exit code of the process is that of the command.
func TestServeProcessFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{
		"serve": exitUsage,
		"serve --export /e=/nonexistent/export --listen 127.0.0.1:0 --mount none": exitFailed,
	} {
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("%s: %v, want %d", args, err, want)
		}
	}
}
