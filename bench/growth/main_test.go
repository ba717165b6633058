package growth

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// serverVariable is set in the process that is the server.
const serverVariable = "GROWTH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// server is the other process.
type server struct {
	b       *testing.B
	cmd     *exec.Cmd
	ask     *json.Encoder
	answers *json.Decoder
	first   report
}

// startServer starts it. It ends with the benchmark.
func startServer(b *testing.B) *server {
	b.Helper()
	path, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s := &server{b: b, cmd: exec.Command(path)}
	s.cmd.Env = append(os.Environ(), serverVariable+"=1")
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	start := s.cmd.Start
	if cpus, err := host.AllowedCPUs(); err == nil && len(cpus) > 1 {
		start = func() error { return host.StartPinned(s.cmd, cpus[1]) }
		if undo, err := host.Pin(cpus[0]); err == nil {
			b.Cleanup(func() { undo() })
		}
	}
	if err := start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := s.cmd.Wait(); err != nil {
			b.Errorf("server: %v", err)
		}
	})
	s.ask, s.answers = json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	s.first = s.report(false)
	return s
}

// report asks the server for one.
func (s *server) report(collect bool) (r report) {
	s.b.Helper()
	if err := s.ask.Encode(collect); err != nil {
		s.b.Fatal(err)
	}
	if err := s.answers.Decode(&r); err != nil {
		s.b.Fatalf("server: %v", err)
	}
	return r
}

// number is the value of an environment variable.
func number(b *testing.B, name string, byDefault int) int {
	b.Helper()
	v := os.Getenv(name)
	if v == "" {
		return byDefault
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		b.Fatalf("%s=%s", name, v)
	}
	return n
}

func length(b *testing.B, name string, byDefault time.Duration) time.Duration {
	b.Helper()
	v := os.Getenv(name)
	if v == "" {
		return byDefault
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		b.Fatalf("%s=%s", name, v)
	}
	return d
}
