//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

func send(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// heedSignals makes processes that start from now on not ignore SIGHUP and SIGINT, even if this one
// runs under nohup or in the background of a script.
func heedSignals(t *testing.T) {
	t.Helper()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT)
	t.Cleanup(func() { signal.Stop(signals) })
}

// TestServeSignal: each signal ends an idle server in order.
func TestServeSignal(t *testing.T) {
	heedSignals(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		s, cmd := startProcess(t, "1s", "--memory", "/export")
		m := mountAs(t, dialRDMA(t, s.rdma), 0, "/export")
		want := rig.Pattern(300_001)
		if got := m.get(t, m.put(t, "file", want)); !bytes.Equal(got, want) {
			t.Errorf("got %d bytes that are not the %d that were written", len(got), len(want))
		}
		send(t, cmd, sig)
		<-s.over
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitOK || !strings.Contains(s.stderr.String(), "msg=drained\n") {
			t.Errorf("%v: %v: %v", sig, cmd.ProcessState, s.stderr)
		}
	}
}

// TestServeSignalTwice: signals that come together count as one, and the call under way is
// answered.
func TestServeSignalTwice(t *testing.T) {
	heedSignals(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		s, cmd := startProcess(t, "1h", "--memory", "/export")
		g := newGate(t, s.rdma)
		result := callUnderWay(t, g)
		send(t, cmd, sig)
		s.stderr.await("msg=draining", s.over)
		for range 3 {
			send(t, cmd, sig)
		}
		letGo(g)
		if err := <-result; err != nil {
			t.Errorf("%v: the call under way: %v", sig, err)
		}
		<-s.over
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitOK || !strings.Contains(s.stderr.String(), "msg=drained\n") {
			t.Errorf("%v: %v: %v", sig, cmd.ProcessState, s.stderr)
		}
	}
}

// TestServeSecondSignal: a later second signal ends the process at once, even if a call is under
// way.
func TestServeSecondSignal(t *testing.T) {
	heedSignals(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		s, cmd := startProcess(t, "0s", "--memory", "/export")
		g := newGate(t, s.rdma)
		result := callUnderWay(t, g)
		send(t, cmd, sig)
		s.stderr.await("msg=draining", s.over)
		untilOver(s, func() { cmd.Process.Signal(sig) })
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != sig {
			t.Errorf("%v, want it ended by %v: %v", cmd.ProcessState, sig, s.stderr)
		}
		if got := s.stderr.String(); strings.Contains(got, "msg=drained") {
			t.Errorf("it has drained: %s", got)
		}
		letGo(g)
		if err := <-result; err == nil {
			t.Error("the call under way was answered")
		}
	}
}

// untilOver repeats an action until the server has ended, because nothing tells when it takes
// effect. It pauses in between: restoring the default action of signals waits until none is being
// delivered.
func untilOver(s *serveCommand, do func()) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		do()
		select {
		case <-s.over:
			return
		case <-tick.C:
		}
	}
}

// TestServeBrokenPipe: a server whose output nobody reads any more, as after Ctrl-C in a pipeline,
// still ends in order.
func TestServeBrokenPipe(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	messages, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0",
		"--memory", "/export")
	cmd.Env = append(os.Environ(), asCommand+"=1s")
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	stderr.Close()
	if err != nil {
		t.Fatal(err)
	}
	greeting := make([]byte, 1)
	if _, err := stdout.Read(greeting); err != nil { // it has come up
		t.Error(err)
	}
	messages.Close()
	send(t, cmd, syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit code 0", err)
	}
}
