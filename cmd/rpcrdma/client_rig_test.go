package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// clientRig is a server with the exports /memory and, where directories can be exported, /export.
// It does not squash users.
type clientRig struct {
	*serveCommand
	dir  string               // which is exported as /export
	told func(written []byte) // if not nil, is told what commands write to standard error
}

// startRig runs serve until the test ends. It takes further arguments of serve.
func startRig(t *testing.T, args ...string) *clientRig {
	t.Helper()
	r := &clientRig{}
	args = append([]string{"--memory", "/memory", "--squash", "none"}, args...)
	if runtime.GOOS == "linux" {
		r.dir = t.TempDir()
		args = append(args, "--export", "/export="+r.dir)
	}
	r.serveCommand = startServe(t, args...)
	return r
}

// schemes are the schemes of a rig's URLs.
var schemes = []string{"rdma", "tcp"}

// base returns a URL without its path.
func (r *clientRig) base(scheme string) string {
	addr := map[string]string{"rdma": r.rdma, "tcp": r.tcp}[scheme]
	return scheme + "://" + addr
}

// outcome is the exit code and the output of a command.
type outcome struct {
	code   int
	stdout string
	stderr string
}

// summary is the line at the end of a copy.
var summary = regexp.MustCompile(`(?m)^(get|put|cp): \d+ files?.*\n`)

// exec runs a command line. In arguments, "@/" stands for base(scheme)+"/" (the path after it is
// already encoded). In the outcome, "@" stands for the base, and the line at the end of a copy is
// left out.
func (r *clientRig) exec(t *testing.T, scheme string, args ...string) outcome {
	t.Helper()
	return r.execContext(t.Context(), scheme, args...)
}

func (r *clientRig) execContext(ctx context.Context, scheme string, args ...string) outcome {
	got := r.execWhole(ctx, scheme, args...)
	got.stderr = summary.ReplaceAllString(got.stderr, "")
	return got
}

// execWhole is exec with the line at the end of a copy.
func (r *clientRig) execWhole(ctx context.Context, scheme string, args ...string) outcome {
	base := r.base(scheme)
	full := make([]string, len(args))
	for i, a := range args {
		full[i] = strings.ReplaceAll(a, "@/", base+"/")
	}
	var stdout, stderr bytes.Buffer
	code := run(ctx, full, &stdout, tapped{&stderr, r.told})
	return outcome{code, strings.ReplaceAll(stdout.String(), base, "@"),
		strings.ReplaceAll(stderr.String(), base, "@")}
}

// tapped is a writer that tells what is written to it.
type tapped struct {
	io.Writer
	tell func([]byte) // may be nil
}

func (w tapped) Write(p []byte) (int, error) {
	if w.tell != nil {
		w.tell(p)
	}
	return w.Writer.Write(p)
}

// path returns the path on this host of a file of /export.
func (r *clientRig) path(name string) string { return filepath.Join(r.dir, name) }

// file makes a file in /export, with mode 644, and the directories above it, with mode 755.
func (r *clientRig) file(t *testing.T, name, data string) {
	t.Helper()
	r.mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(r.path(name), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.path(name), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mkdir makes a directory in /export, with mode 755, and those above it.
func (r *clientRig) mkdir(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(r.path(name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// symlink makes a symbolic link in /export.
func (r *clientRig) symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, r.path(name)); err != nil {
		t.Fatal(err)
	}
}

// tree describes the contents of /export, one line per file. See TreeOf.
func (r *clientRig) tree(t *testing.T) string {
	t.Helper()
	return rig.TreeOf(t, r.dir)
}
