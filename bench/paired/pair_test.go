package paired

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// opened returns a pair with one open scenario.
func opened(t *testing.T, name string) (p *pair, id int) {
	t.Helper()
	p, err := startPair(context.Background(), quick()) // t.Context would end before the pair
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		for _, at := range []process{p.server, p.client} {
			if state := at.(*otherProcess).Cmd.ProcessState; state == nil || !state.Exited() {
				t.Errorf("%v has not ended by itself: %v", at, state)
			}
		}
	})
	s, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	if id, err = p.open(s, Sockets{}); err != nil {
		t.Fatal(err)
	}
	return p, id
}

func TestRun(t *testing.T) {
	const n = 5000
	for _, tt := range []struct {
		scenario string
		want     func(Measurement) bool
		what     string
	}{
		{"fake/plain", func(m Measurement) bool { return m.Client.Allocs < n/10 && m.P50 == 0 }, "hardly any allocation"},
		{"fake/prints", func(m Measurement) bool { return m.Elapsed > 0 }, "what is printed to disturb nobody"},
		{"fake/allocates", func(m Measurement) bool {
			return m.Client.Allocs >= 3*n && m.Client.Allocs < 3*n+n/10 && m.Server.Allocs < n/10
		}, "3 allocations an operation at the client"},
		{"fake/latency", func(m Measurement) bool { return m.P50 == (n/2+1)*time.Microsecond }, "the median of the samples"},
	} {
		t.Run(tt.scenario, func(t *testing.T) {
			p, id := opened(t, tt.scenario)
			m, err := p.run(id, n)
			if err != nil {
				t.Fatal(err)
			}
			if m.Operations != n || !tt.want(m) {
				t.Errorf("got %+v, want %d operations, and %s", m, n, tt.what)
			}
			if err := p.close(id); err != nil {
				t.Error(err)
			}
			if _, err := p.run(id, 1); err == nil {
				t.Error("a closed scenario runs")
			}
		})
	}
}

func TestRunCPU(t *testing.T) {
	p, id := opened(t, "fake/works")
	const n = 50 // milliseconds of work
	m, err := p.run(id, n)
	if err != nil {
		t.Fatal(err)
	}
	if host.CPUTime() > 0 && (m.Client.CPU <= 0 || m.Client.CPU <= m.Server.CPU) {
		t.Errorf("got CPU times of %v at the client and %v at the server, want all of it at the client", m.Client.CPU, m.Server.CPU)
	}
}

func TestProfile(t *testing.T) {
	o := quick()
	o.Profile = t.TempDir()
	if _, err := Compare(t.Context(), o, TCPPingPong, TCPPingPong); err != nil {
		t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(o.Profile, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(o.Profile, "tcp-pingpong.client.pprof"),
		filepath.Join(o.Profile, "tcp-pingpong.server.pprof"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got files %q, want %q", got, want)
	}
	for _, path := range got {
		if fi, err := os.Stat(path); err != nil || fi.Size() == 0 {
			t.Errorf("%s: got %v, %v, want a profile", path, fi, err)
		}
	}
}
