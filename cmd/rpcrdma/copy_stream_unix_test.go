//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/copying"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// process runs a command line against a rig in a process of its own.
func (r *clientRig) process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@/", r.base("rdma")+"/")
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1s", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// TestCopyPipes: put takes standard input, get gives standard output.
func TestCopyPipes(t *testing.T) {
	r := startRig(t)
	for _, n := range []int{0, 1, 5<<20 + 7} {
		data := rig.Pattern(n)
		put := r.process(t, "put", "-q", "-", "@/memory/file")
		put.Stdin = struct{ io.Reader }{bytes.NewReader(data)} // a pipe
		if out, err := put.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("put: %v, %s", err, out)
		}
		got, err := r.process(t, "get", "@/memory/file", "-").Output()
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d came back, %v", n, len(got), err)
		}
	}
	// A new file has permissions less the umask.
	here := t.TempDir()
	done(t, r.exec(t, "rdma", "get", "-p", "@/memory/file", here))
	if i, err := os.Stat(filepath.Join(here, "file")); err != nil || i.Mode() != 0o666&^remote.Umask {
		t.Errorf("got %v, %v, want %v", i.Mode(), err, 0o666&^remote.Umask)
	}
}

// TestPutTerminated: the exit code tells which signal ended a command.
func TestPutTerminated(t *testing.T) {
	r := startRig(t)
	for sig, want := range map[os.Signal]string{
		os.Interrupt:    "130 rpcrdma: interrupted\n",
		syscall.SIGTERM: "143 rpcrdma: terminated\n",
	} {
		put := r.process(t, "put", "-q", "-", "@/memory/file")
		stdin, err := put.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		put.Stderr = &stderr
		if err := put.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write(make([]byte, 3<<20)); err != nil { // more than a pipe has room for
			t.Fatal(err)
		}
		put.Process.Signal(sig)
		put.Wait()
		stdin.Close()
		if got := fmt.Sprint(put.ProcessState.ExitCode(), " ", stderr.String()); got != want {
			t.Errorf("%v: got %q, want %q", sig, got, want)
		}
	}
}

// TestPutInterruptedInput: an interrupt does not wait for input, and leaves nothing.
func TestPutInterruptedInput(t *testing.T) {
	r := startRig(t)
	for _, name := range []string{"-", "/dev/stdin"} {
		put := r.process(t, "put", name, "@/memory/file")
		var stderr bytes.Buffer
		put.Stderr = &stderr
		stdin, err := put.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := put.Start(); err != nil {
			t.Fatal(err)
		}
		// more than a pipe has room for
		if _, err := stdin.Write(rig.Pattern(3 << 20)); err != nil {
			t.Fatal(err)
		}
		put.Process.Signal(os.Interrupt)
		put.Wait()
		stdin.Close()
		if got := put.ProcessState.ExitCode(); got != cli.ExitInterrupted || summary.ReplaceAllString(stderr.String(), "") != interrupted.stderr {
			t.Errorf("%s: got exit code %d, %q", name, got, stderr.String())
		}
		down := filepath.Join(t.TempDir(), "down")
		done(t, r.exec(t, "rdma", "get", "-r", "@/memory", down))
		if got := names(t, down); got != "" {
			t.Errorf("%s: left is %s", name, got)
		}
	}
}

// TestGetInterruptedOutput: an interrupt does not wait for the reader of the output.
func TestGetInterruptedOutput(t *testing.T) {
	r := startRig(t)
	done(t, r.exec(t, "rdma", "put", rig.Write(t, filepath.Join(t.TempDir(), "file"), rig.Pattern(20<<20)), "@/memory"))
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []string{"-", fifo} {
		get := r.process(t, "get", "@/memory/file", tt)
		var stderr bytes.Buffer
		get.Stderr = &stderr
		output, err := get.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := get.Start(); err != nil {
			t.Fatal(err)
		}
		if tt == fifo {
			if output, err = os.Open(fifo); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(output, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		get.Process.Signal(os.Interrupt)
		get.Process.Wait()
		output.Close()
		get.Wait()
		if summary.ReplaceAllString(stderr.String(), "") != interrupted.stderr {
			t.Errorf("%s: got %q", tt, stderr.String())
		}
	}
}

// TestInterruptedOpen: an interrupt does not wait for a FIFO's other end.
func TestInterruptedOpen(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &copying.Special{Path: fifo, Flag: os.O_RDONLY}
	if n, err := (cli.InterruptibleReader{Ctx: ctx, R: s}).Read(make([]byte, 1)); n != 0 || err != context.Canceled {
		t.Errorf("got %d, %v, want %v", n, err, context.Canceled)
	}
	s.Close()                                 // which does not wait either
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // which waits for nobody, and ends who waits
	if err != nil {
		t.Fatal(err)
	}
	s.Mu.Lock() // it is open, or will never be
	opened := s.F
	s.Mu.Unlock()
	if opened != nil {
		opened.Close()
	}
	f.Close()
}
