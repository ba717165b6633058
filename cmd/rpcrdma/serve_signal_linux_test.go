package main

import (
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// TestServeNoHangup: if SIGHUP is ignored when the server starts, as under nohup, it stays ignored;
// else the server catches it.
func TestServeNoHangup(t *testing.T) {
	heedSignals(t)
	for _, ignored := range []bool{false, true} {
		if ignored {
			signal.Ignore(syscall.SIGHUP)
			t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
		}
		_, cmd := startProcess(t, "1s", "--memory", "/export")
		if got := signalIn(t, cmd.Process.Pid, "SigIgn", syscall.SIGHUP); got != ignored {
			t.Errorf("started with SIGHUP ignored: %v; then ignored: %v", ignored, got)
		}
		if got := signalIn(t, cmd.Process.Pid, "SigCgt", syscall.SIGHUP); got == ignored {
			t.Errorf("started with SIGHUP ignored: %v; then caught: %v", ignored, got)
		}
	}
}

// signalIn reports whether a process has a signal in one of its sets.
func signalIn(t *testing.T, pid int, set string, sig syscall.Signal) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + set + `:\s*([0-9a-f]+)$`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no %s in\n%s", set, status)
	}
	mask, err := strconv.ParseUint(string(m[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask&(1<<(sig-1)) != 0
}
