package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/demo"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// asCommand turns this test binary into the command. Its value is for how long further signals
// count as the first.
const asCommand = "RPCRDMA_TEST_AS_COMMAND"

// statusFile is where the command leaves its /proc/self/status at the end.
const statusFile = "RPCRDMA_TEST_STATUS_FILE"

func TestMain(m *testing.M) {
	if s := os.Getenv(asCommand); s != "" {
		repeat, err := time.ParseDuration(s)
		if err != nil {
			panic(err)
		}
		if name := os.Getenv(statusFile); name != "" {
			code := run(cli.UntilSignal(repeat), os.Args[1:], os.Stdout, os.Stderr)
			status, err := os.ReadFile("/proc/self/status")
			if err == nil {
				err = os.WriteFile(name, status, 0o600)
			}
			if err != nil {
				panic(err)
			}
			os.Exit(code)
		}
		command(repeat)
	}
	flag.Parse()
	if n := flag.Lookup("test.parallel").Value; n.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		n.Set("16") // tests that run in parallel wait for time limits, and hardly compute
	}
	goleak.VerifyTestMain(m)
}

// execute runs a command line in this process.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// input makes a file of n bytes.
func input(t *testing.T, name string, n int) (path string, sum string) {
	t.Helper()
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*i>>3 + i)
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, p, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, fmt.Sprintf("%x", sha256.Sum256(p))
}

func TestDemo(t *testing.T) {
	args := []string{"demo", "--provider", "loopback"}
	var want []string
	for i, n := range []int{0, 1, 4096, 1 << 20, 3<<20 + 5} {
		path, sum := input(t, fmt.Sprint("file", i), n)
		args = append(args, path)
		want = append(want, fmt.Sprintf("%s  %s: the same", sum, path), fmt.Sprintf(" %d ", n))
	}
	// Another file of the same name gets another one on the server.
	path, sum := input(t, "file0", 777)
	args = append(args, path)
	want = append(want, sum+"  "+path+": the same", " file0.2\n")

	code, stdout, stderr := execute(t, args...)
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, w := range append(want, "MNT", "READDIRPLUS", "read chunk", "up ", "down ", "-rw-r--r--") {
		if !strings.Contains(stdout, w) {
			t.Errorf("no %q in\n%s", w, stdout)
		}
	}
}

// TestDemoSelf copies this program.
func TestDemoSelf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := execute(t, "demo")
	if code != cli.ExitOK || !strings.Contains(stdout, filepath.Base(self)+": the same") {
		t.Errorf("exit %d: %s\n%s", code, stderr, stdout)
	}
}

func TestCommandLine(t *testing.T) {
	path, _ := input(t, "file", 10)
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tt := range []struct {
		args string
		code int
		say  string
	}{
		{"", cli.ExitOK, ""},
		{"--help", cli.ExitOK, ""},
		{"demo --help", cli.ExitOK, ""},
		{"nonsense", cli.ExitUsage, `unknown command "nonsense"`},
		{"--nonsense", cli.ExitUsage, "unknown flag: --nonsense"},
		{"demo --nonsense", cli.ExitUsage, "unknown flag: --nonsense"},
		{"demo --provider", cli.ExitUsage, "flag needs an argument: --provider"},
		{"demo --provider nonsense", cli.ExitUsage, `unknown provider "nonsense": write one of iwarp, loopback, roce, sctp
`},
		{"demo --dialect nonsense", cli.ExitUsage, `unknown dialect "nonsense"`},
		{"demo " + path + " " + missing, cli.ExitFailed, missing + ": no such file"},
		{"demo " + t.TempDir(), cli.ExitFailed, "not a regular file"},
	} {
		code, stdout, stderr := execute(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.say) || (stderr == "") != (code == cli.ExitOK) {
			t.Errorf("%q: exit %d, want %d: %s", tt.args, code, tt.code, stderr)
		}
		if (stdout != "") != (code == cli.ExitOK) {
			t.Errorf("%q: on standard output: %s", tt.args, stdout)
		}
	}
}

func TestMismatch(t *testing.T) {
	path, _ := input(t, "file", 100000)
	files, err := demo.FindFiles([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	files[0].Received.Write([]byte("a byte too many"))
	err = demo.Run(t.Context(), reach.Providers["loopback"], rpcrdma.RFC8166, files, io.Discard, cli.NewBar(io.Discard))
	if !errors.Is(err, demo.ErrMismatch) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	path, _ := input(t, "file", 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	if code := run(ctx, []string{"demo", path}, io.Discard, &stderr); code != cli.ExitInterrupted || stderr.String() != "rpcrdma: interrupted\n" {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

// full is a disk without space.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestOutputLost checks that a demo whose output cannot be written does not end as if all were
// well.
func TestOutputLost(t *testing.T) {
	path, _ := input(t, "file", 100)
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"demo", path}, full{}, &stderr); code != cli.ExitFailed || !strings.Contains(stderr.String(), errFull.Error()) {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"":            `""`,
		"file":        "file",
		"zwölf Dinge": "zwölf Dinge",
		"a\nb":        `"a\nb"`,
		"\x1b[31mred": `"\x1b[31mred"`,
		"\xff":        `"\xff"`,
		" a":          `" a"`,
		"a ":          `"a "`,
		" ":           `" "`,
	} {
		if got := cli.Printable(name); got != want {
			t.Errorf("printable(%q) = %s, want %s", name, got, want)
		}
	}
}
