package growth

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

func TestMain(m *testing.M) {
	if host.Role() != "" {
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
	ask     *json.Encoder
	answers *json.Decoder
	first   report
}

// startServer starts it. It ends with the benchmark.
func startServer(b *testing.B) *server {
	b.Helper()
	p := host.Program{Role: "server"}
	if cpus, err := host.AllowedCPUs(); err == nil && len(cpus) > 1 {
		p.CPUs = cpus[1:2]
		if undo, err := host.Pin(cpus[0]); err == nil {
			b.Cleanup(func() { undo() })
		}
	}
	c, err := p.Start(context.WithoutCancel(b.Context())) // until the clean-up
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Stop(time.Minute); err != nil {
			b.Errorf("server: %v", err)
		}
	})
	s := &server{b: b, ask: json.NewEncoder(c.In), answers: json.NewDecoder(c.Out)}
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
