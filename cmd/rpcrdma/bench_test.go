package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	benchcmd "github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/bench"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestBench: bench starts a server, measures, and says which points it left out.
func TestBench(t *testing.T) {
	t.Setenv(asCommand, "1s") // in the server's process
	code, stdout, stderr := benched(t, 2*time.Second, "--paths", "loopback,iwarp+crc,tcp", "--ways", "inline-call,read-chunk", "--sizes", "4KiB,64KiB", "--in-flight", "2",
		"--cpus", "none")
	if code != cli.ExitOK || !regexp.MustCompile(`^rpcrdma: measuring 8 points, for up to \S+\n$`).MatchString(stderr) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"read chunk", "iwarp+crc", "tcp", "a Send is at most 65536 bytes"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

// TestBenchOut: the files that bench writes. A single point has few charts, which are quick to
// make.
func TestBenchOut(t *testing.T) {
	t.Setenv(asCommand, "1s")
	dir := filepath.Join(t.TempDir(), "made")
	code, _, stderr := benched(t, time.Second, "--paths", "loopback", "--ways", "read-chunk", "--sizes", "4KiB", "--cpus", "none", "--out", dir)
	if code != cli.ExitOK || !strings.Contains(stderr, "s\nrpcrdma: wrote "+dir) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r bench.Result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Measured) != 1 || r.Measured[0].Point != (bench.Point{Path: bench.Loopback, Way: bench.ReadChunk, Size: 4096, InFlight: 8, Conns: 1}) || r.Grid != "custom" {
		t.Errorf("grid %q: got %v", r.Grid, r.Measured)
	}
	if rounds := r.Measured[0].Rounds; len(rounds) == 0 || rounds[0].Yardstick <= 0 || rounds[0].Others < 0 || rounds[0].Others > 1 {
		t.Errorf("got rounds %+v", rounds)
	}
	if html, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || len(html) == 0 {
		t.Errorf("report.html: %d bytes, error %v", len(html), err)
	}
	file := filepath.Join(dir, "results.json") // where a directory cannot be made
	if code, _, stderr := execute(t, "bench", "--out", filepath.Join(file, "sub")); code != cli.ExitFailed || !strings.Contains(stderr, "--out: ") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// benched runs bench for a time, and again for a longer one if that is too short on a busy machine.
func benched(t *testing.T, limit time.Duration, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for {
		code, stdout, stderr = execute(t, append([]string{"bench", "--time", limit.String()}, args...)...)
		if !strings.Contains(stdout+stderr, "no time was left") || limit > time.Minute {
			return code, stdout, stderr
		}
		limit *= 4
	}
}

var benchLine = regexp.MustCompile(`(?m)^bench server on (\S+);`)

// TestBenchServer: a server that runs already is measured, and runs on.
func TestBenchServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, errs, over := newTranscript(), newTranscript(), make(chan struct{})
	code := 0
	go func() {
		defer close(over)
		code = run(ctx, []string{"bench", "serve", "--listen", "127.0.0.1:0"}, out, errs)
	}()
	m := benchLine.FindStringSubmatch(out.await("--server", over))
	if m == nil {
		t.Fatalf("no address in %q; on standard error: %v", out, errs)
	}
	for range 2 {
		code, stdout, stderr := benched(t, 300*time.Millisecond, "--server", m[1], "--ways", "write-chunk", "--sizes", "4KiB")
		if code != cli.ExitOK || !strings.Contains(stdout, "write chunk") || !strings.Contains(stdout, m[1]) {
			t.Errorf("exit %d: %s%s", code, stdout, stderr)
		}
	}
	if got, _, stderr := execute(t, "bench", "serve", "--listen", m[1]); got != cli.ExitFailed || !strings.Contains(stderr, "address already in use; another server may have it: choose another port with --listen") && runtime.GOOS != "windows" {
		t.Errorf("a second server: exit %d: %s", got, stderr)
	}
	cancel()
	<-over
	if code != cli.ExitOK || errs.String() != "" {
		t.Errorf("the server: exit %d: %v", code, errs)
	}
	if got, stdout, stderr := execute(t, "bench", "--server", m[1]); got != cli.ExitFailed || stdout != "" || runtime.GOOS != "windows" && !strings.Contains(stderr, "nothing listens at "+m[1]+": run rpcrdma bench serve there") {
		t.Errorf("no server: exit %d: %s%s", got, stdout, stderr)
	}
}

// TestBenchInterrupted: an interrupt before the first measurement.
func TestBenchInterrupted(t *testing.T) {
	t.Setenv(asCommand, "1s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, errs := newTranscript(), newTranscript()
	if code := run(ctx, []string{"bench"}, out, errs); code != cli.ExitInterrupted || !strings.HasSuffix(errs.String(), "rpcrdma: interrupted\n") || out.String() != "" {
		t.Errorf("exit %d: %v%v", code, out, errs)
	}
}

// noCongestion and noCPU are the messages about a missing congestion control, and a missing CPU.
var noCongestion, noCPU = "congestion control cannot be set on this system", "a process cannot be pinned to CPUs on this system"

func init() {
	if runtime.GOOS == "linux" {
		noCongestion, noCPU = `there is no congestion control "nosuch": this system has `, "there is no CPU 99999 for this process: it may use "
	}
}

// TestBenchMemory: with too little memory nothing is measured, and the message names the flag.
func TestBenchMemory(t *testing.T) {
	t.Setenv(asCommand, "1s")
	code, stdout, stderr := execute(t, "bench", "--memory", "1", "--cpus", "none")
	if want := "rpcrdma: --memory 1: the smallest point needs 512 B\n"; code != cli.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit %d: %s%swant %s", code, stdout, stderr, want)
	}
}

// TestBenchCommandLine: invalid command lines.
func TestBenchCommandLine(t *testing.T) {
	for _, tt := range []struct{ args, say string }{
		{"now", `unknown argument "now"`},
		{"serve now", `unknown argument "now"`},
		{"--quick --full", "use only one of --quick, --full, and a choice"},
		{"--quick --sizes 1KiB", "use only one of --quick, --full, and a choice"},
		{"--paths carrier", "write one of loopback, iwarp, iwarp+crc, iwarp+markers, roce, tcp, or all"},
		{"--ways slow", "write one of inline-call, padded-call, read-chunk, position-zero-call, inline-reply, write-chunk, reply-chunk, or all"},
		{"--sizes 8MiB", "write a size up to 4MiB"},
		{"--sizes 0", "write a number of bytes"},
		{"--sizes 1KiB,1024", "1024 is given twice"},
		{"--in-flight 0", "write a number from 1 to 256"},
		{"--conns 513", "write a number from 1 to 512"},
		{"--paths tcp --ways read-chunk", "nothing to measure: TCP has neither chunks nor padding"},
		{"--ways inline-call --sizes 1MiB", "nothing to measure: a Send is at most 65536 bytes"},
		{"--time 0", "write a time above 0"},
		{"--time -1s", "write a number and its unit (s, m or h)"},
		{"--server host:x", "--server host:x: write HOST[:PORT]"},
		{"--server host:0", "--server host:0: write HOST[:PORT]"},
		{"--server :1", "--server :1: write HOST[:PORT]"},
		{"--server /host", "--server /host: write HOST[:PORT]"},
		{"--server rdma://host", "--server rdma://host: write HOST[:PORT]"},
		{"--server host --paths loopback", "has both ends in this process: leave out --server"},
		{"serve --listen rdma://host", "--listen rdma://host: write HOST[:PORT]"},
		{"serve --listen host:x", "--listen host:x: write HOST[:PORT], with a port up to 65531"},
		{"serve --listen :65532", "--listen :65532: write HOST[:PORT], with a port up to 65531"},
		{"--congestion nosuch", "--congestion: " + noCongestion},
		{"serve --congestion nosuch", "--congestion: " + noCongestion},
		{"--cpus 99999:99998", "--cpus: " + noCPU},
		{"--server host --cpus 0:1", "pins only the client: write :CPUS"},
		{"--cpus 0", "write CPUs of the server and of the client, such as 0:1, or none"},
		{"--cpus a:b", "write numbers of CPUs"},
	} {
		code, stdout, stderr := execute(t, append([]string{"bench"}, strings.Fields(tt.args)...)...)
		if code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, tt.say) {
			t.Errorf("bench %s: exit %d: %s%swant %s", tt.args, code, stdout, stderr, tt.say)
		}
	}
}

// TestBenchExplains: errors of a server that does not answer, and errors without an explanation.
func TestBenchExplains(t *testing.T) {
	_, timeout := new(net.Dialer).DialContext(expired{t.Context()}, "tcp", "127.0.0.1:1")
	for _, tt := range []struct {
		server string
		err    error
		want   string
	}{
		{"host:1", timeout, "no answer from host:1: is the host up, and is a firewall in between? A server takes five ports in a row"},
		{"host:1", fmt.Errorf("INFO: %w", context.DeadlineExceeded), "no answer from host:1: is the host up, and is a firewall in between? A server takes five ports in a row"},
		{"", context.DeadlineExceeded, context.DeadlineExceeded.Error()},
		{"host:1", errors.New("else"), "else"},
		{"host:1", &bench.LostError{Server: "host:1", Points: 4, Err: fmt.Errorf("usage: %w", &net.OpError{Op: "read", Err: io.EOF})}, "the server at host:1 was lost after 4 points: the server has ended the connection"},
		{"host:1", fmt.Errorf("a point failed: %w", &bench.LostError{Server: "host:1", Points: 1, Err: bench.ErrSilent}), "the server at host:1 stopped answering after 1 point"},
		{"", &bench.LostError{Err: errors.New("signal: killed")}, "the server's process was lost before anything was measured: signal: killed"},
		{"host:1", &bench.MemoryError{Least: 4096, Memory: 1, Server: true}, "the server has --memory 1, but the smallest point needs 4 KiB"},
	} {
		if got := benchcmd.Explain(bench.Options{Server: tt.server}, tt.err).Error(); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestBenchListenFailed: the message about an unknown host.
func TestBenchListenFailed(t *testing.T) {
	err := &net.OpError{Op: "listen", Err: &net.DNSError{Name: "foo", IsNotFound: true}}
	if got, want := benchcmd.ListenFailed("foo", err).Error(), "--listen foo: there is no host foo: write HOST[:PORT] with an address of this host, or :PORT for all"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for in, want := range map[string]string{"192.0.2.1": "192.0.2.1:20051", ":7": ":7", "[::1]": "[::1]:20051", "h:0": "h:0"} {
		if got, err := benchcmd.ListenAddress(in); got != want || err != nil {
			t.Errorf("%s: got %s, error %v, want %s", in, got, err, want)
		}
	}
}

// expired is a context whose deadline has passed.
type expired struct{ context.Context }

func (expired) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// TestBenchOptions: the options that flags lead to.
func TestBenchOptions(t *testing.T) {
	parse := func(args ...string) bench.Options {
		t.Helper()
		cfg := benchcmd.NewConfig()
		cmd := benchcmd.NewCommand()
		cmd.ResetFlags()
		cfg.AddFlags(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		o, err := cfg.Options(cmd.Flags().Changed)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := parse(); o.Grid.Name != "quick" || o.Time != benchcmd.QuickTime || o.Server != "" || o.Sockets.Congestion != host.DefaultCongestion || len(o.ServerCPUs) != len(o.ClientCPUs) && runtime.NumCPU()%2 == 0 {
		t.Errorf("by default: got grid %s, %v, server %q, %+v, CPUs %v and %v", o.Grid.Name, o.Time, o.Server, o.Sockets, o.ServerCPUs, o.ClientCPUs)
	}
	if o := parse("--full", "--time", "1m", "--memory", "2GiB"); o.Grid.Name != "full" || o.Time != time.Minute || o.Memory != 2<<30 {
		t.Errorf("full: got grid %s, %v, %d bytes", o.Grid.Name, o.Time, o.Memory)
	}
	if o := parse("--ways", "read-chunk"); len(o.Grid.Points) != len(bench.FullAxes().Sizes) || o.Time != time.Duration(len(o.Grid.Points))*time.Second {
		t.Errorf("one way: got %d points, %v", len(o.Grid.Points), o.Time)
	}
	if o := parse("--paths", "all", "--conns", "all", "--in-flight", "all"); !slices.Equal(o.Grid.Points, bench.FullGrid().Points) || o.Time != benchcmd.FullTime {
		t.Errorf("all: got %d points, %v, want those of the grid full", len(o.Grid.Points), o.Time)
	}
	for in, want := range map[string]string{"host": "host:20051", "host:1": "host:1", "[2001:db8::1]": "[2001:db8::1]:20051", "[2001:db8::1]:7": "[2001:db8::1]:7"} {
		if o := parse("--server", in); o.Server != want || o.Sockets.Congestion != "" || len(o.Command) != 0 {
			t.Errorf("--server %s: got %s, %+v, want %s", in, o.Server, o.Sockets, want)
		}
	}
	if o := parse("--server", "host", "--cpus", ":2,3", "--congestion", "cubic"); !slices.Equal(o.ClientCPUs, []int{2, 3}) || o.Sockets.Congestion != "cubic" {
		t.Errorf("got CPUs %v, %+v", o.ClientCPUs, o.Sockets)
	}
	if o := parse("--cpus", "0:1"); !slices.Equal(o.ServerCPUs, []int{0}) || !slices.Equal(o.ClientCPUs, []int{1}) {
		t.Errorf("got CPUs %v and %v, want 0 and 1", o.ServerCPUs, o.ClientCPUs)
	}
}
