//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestBenchSignal: an interrupt from the keyboard also reaches the server's process. It ends both
// in order.
func TestBenchSignal(t *testing.T) {
	t.Setenv(asCommand, "1h")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, errs, over := newTranscript(), newTranscript(), make(chan struct{})
	cmd := exec.Command(self, "bench", "--cpus", "none", "--time", "1m", "--sizes", "4KiB")
	cmd.Stdout, cmd.Stderr = out, errs // the server has neither
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(over)
		cmd.Wait()
	}()
	errs.await("measuring 7 points", over)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-over
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted || errs.String() != "rpcrdma: measuring 7 points, for up to 1m0s\nrpcrdma: interrupted\n" {
		t.Errorf("%v: %v%v", cmd.ProcessState, out, errs)
	}
	if err := syscall.Kill(-cmd.Process.Pid, 0); err != syscall.ESRCH {
		t.Errorf("a process of its group is left: %v", err)
	}
}
