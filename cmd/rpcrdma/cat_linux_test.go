package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

func TestCat(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "one", files: []string{"a=one\n"}, args: "cat @/export/a", stdout: "one\n"},
		{name: "empty", files: []string{"a="}, args: "cat @/export/a"},
		{name: "several, some missing", files: []string{"a=one", "b=two", "d/"}, args: "cat @/export/a @/export/none @/export/d @/export/b @/export/a", code: 1, stdout: "onetwoone",
			stderr: "cat @/export/none: no such file or directory\ncat @/export/d: is a directory\n"},
		{name: "links", files: []string{"a=one", "l -> a", "m -> /export/l", "x -> x", "y -> /etc/passwd", "z -> ../.."}, args: "cat @/export/l @/export/m @/export/x @/export/y @/export/z", code: 1, stdout: "oneone",
			stderr: "cat @/export/x: too many symbolic links\ncat @/export/y: link leads out of the export\ncat @/export/z: link leads out of the export\n"},
		{name: "slash", files: []string{"a=one"}, args: "cat @/export/a/", code: 1, stderr: "cat @/export/a/: not a directory\n"},
		{name: "not encoded", files: []string{"a#b=1"}, args: "cat @/export/a#b", code: 2,
			stderr: "rpcrdma: @/export/a#b: write %23 for a # in a name\nRun 'rpcrdma cat --help' for usage.\n"},
	})
}

// TestCatLarge: many READs.
func TestCatLarge(t *testing.T) {
	r := startRig(t)
	want := string(rig.Pattern(5<<20 + 1))
	r.file(t, "a", want)
	for _, scheme := range schemes {
		if got := r.exec(t, scheme, "cat", "@/export/a"); got.code != cli.ExitOK || got.stderr != "" || got.stdout != want {
			t.Errorf("over %s: exit %d, %d bytes, want %d: %s", scheme, got.code, len(got.stdout), len(want), got.stderr)
		}
	}
}

// TestCatFIFO: cat reads only regular files.
func TestCatFIFO(t *testing.T) {
	r := startRig(t)
	if err := unix.Mkfifo(r.path("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := outcome{cli.ExitFailed, "", "rpcrdma cat @/export/fifo: neither a regular file nor a directory\n"}
	if got := r.exec(t, "tcp", "cat", "@/export/fifo"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestCatInterrupted: cat ends though nobody reads its output.
func TestCatInterrupted(t *testing.T) {
	r := startRig(t)
	r.file(t, "a", string(rig.Pattern(4<<20)))
	for _, scheme := range schemes {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan int)
		var stderr bytes.Buffer
		go func() { over <- run(ctx, []string{"cat", r.base(scheme) + "/export/a"}, out, &stderr) }()
		if _, err := io.ReadFull(in, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if code := <-over; code != cli.ExitInterrupted || stderr.String() != "rpcrdma: interrupted\n" {
			t.Errorf("over %s: exit %d: %s", scheme, code, &stderr)
		}
		in.Close() // ends the write that is under way
		out.Close()
	}
}

// TestOutputLostOfFiles: a command stops when its output cannot be written, and says why.
func TestOutputLostOfFiles(t *testing.T) {
	r := startRig(t)
	r.build(t, "a=1", "l -> a")
	for _, args := range []string{"cat @/export/a @/export/none", "ls @/export", "ls -l @/export", "stat @/export/a @/export/none", "readlink @/export/l @/export/none"} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(strings.ReplaceAll(args, "@", r.base("tcp"))), full{}, &stderr)
		if want := "rpcrdma: " + errFull.Error() + "\n"; code != cli.ExitFailed || stderr.String() != want {
			t.Errorf("%s: exit %d, %q, want %q", args, code, &stderr, want)
		}
	}
}
