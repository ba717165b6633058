package growth

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

func TestMain(m *testing.M) {
	if host.Role() == idleServer {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	paired.Main() // does not return in a child
	os.Exit(m.Run())
}

// idleServer is the role of the server process of BenchmarkIdle.
const idleServer = "idle"

// server is that process, as the benchmark sees it.
type server struct {
	b       *testing.B
	ask     *json.Encoder
	answers *json.Decoder
	first   report
}

// startServer starts the server. It ends with the benchmark.
func startServer(b *testing.B, o env.Options) *server {
	b.Helper()
	p := host.Program{Role: idleServer}
	if len(o.CPUs) > 0 {
		p.CPUs = o.CPUs[:1]
		undo, err := host.Pin(o.CPUs[1])
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { undo() })
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

// report asks the server for a report.
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

// options returns the options of the environment, with this package's defaults.
func options() (env.Options, error) {
	o := env.Default()
	o.Conns = 10_000
	return env.Read(o)
}
