package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// chartOf returns the chart with the given name.
func chartOf(t *testing.T, r *bench.Result, name string) chart {
	t.Helper()
	all := charts(r)
	i := slices.IndexFunc(all, func(c chart) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("got no chart %s", name)
	}
	return all[i]
}

// seriesOf returns the lines of a panel, by name, as pairs of x and y.
func seriesOf(p *panel) map[string][][2]float64 {
	all := make(map[string][][2]float64)
	for _, l := range p.lines {
		for _, xy := range l.points {
			all[l.name] = append(all[l.name], [2]float64{xy.x, xy.y})
		}
	}
	return all
}

// TestCharts checks which lines the charts have and which figures they show.
func TestCharts(t *testing.T) {
	for _, tt := range []struct {
		chart string
		panel int
		title string
		want  map[string][][2]float64
		marks []mark
	}{
		{"throughput-iwarp", 0, "Calls: client to server", map[string][][2]float64{
			"inline":              {{1024, 102.4e6}, {16384, 409.6e6}},
			"chunk (read, write)": {{1024, 51.2e6}, {16384, 819.2e6}, {1 << 20, 1.048576e10}},
			"RPC over TCP":        {{1024, 1024e9 / 12000}},
			"raw TCP":             {{1 << 20, 1.3e10}},
		}, []mark{{4096, "chunks from 4 KiB"}}},
		{"throughput-iwarp", 1, "Replies: server to client", map[string][][2]float64{
			"inline":  {{1024, 1024e9 / 9500}},
			"raw TCP": {{1 << 20, 1.3e10}},
		}, nil},
		{"crossover-iwarp", 0, "Calls: chunks from 4 KiB", map[string][][2]float64{
			"1 call in flight, 1 connection": {{1024, .5}, {16384, 2}},
		}, []mark{{4096, "chunks from 4 KiB"}}},
		{"latency-iwarp", 1, "Replies: server to client", map[string][][2]float64{"inline": {{1024, 9500}}}, nil},
		{"cpu-iwarp", 0, "Calls: client to server", map[string][][2]float64{
			"inline":              {{1024, 7.5e3 / 1024}, {16384, 30e3 / 16384}},
			"chunk (read, write)": {{1024, 15e3 / 1024}, {16384, 15e3 / 16384}, {1 << 20, 75e3 / (1 << 20)}},
			"RPC over TCP":        {{1024, 9e3 / 1024}},
		}, nil},
		{"paths", 0, "Calls: client to server", map[string][][2]float64{
			// Inline, then by chunk.
			"iwarp":        {{1024, 102.4e6}, {16384, 819.2e6}, {1 << 20, 1.048576e10}},
			"RPC over TCP": {{1024, 1024e9 / 12000}},
		}, nil},
		{"scaling-calls", 0, "Throughput: 1 MiB by read chunk, 1 connection", map[string][][2]float64{
			"iwarp": {{1, 1.048576e10}, {8, 1.31072e10}},
		}, nil},
	} {
		t.Run(tt.chart+" "+tt.title, func(t *testing.T) {
			c := chartOf(t, small(), tt.chart)
			p := &c.panels[tt.panel]
			if p.title != tt.title {
				t.Errorf("got title %q, want %q", p.title, tt.title)
			}
			if diff := cmp.Diff(tt.want, seriesOf(p), near); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.marks, p.marks, cmp.AllowUnexported(mark{})); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// near compares numbers up to rounding errors.
var near = cmp.Comparer(func(a, b float64) bool { return a == b || (a-b)*(a-b) < 1e-18*a*b })

// TestChartNames checks which charts there are. Those of the recommended path come first.
func TestChartNames(t *testing.T) {
	of := func(r *bench.Result) (names []string) {
		for _, c := range charts(r) {
			names = append(names, c.name)
		}
		return names
	}
	for _, tt := range []struct {
		name string
		in   *bench.Result
		want []string
	}{
		{"several paths", small(), []string{
			"throughput-iwarp", "crossover-iwarp", "latency-iwarp", "paths", "scaling-calls", "cpu-iwarp",
		}},
		{"one point", partial()["one point"], nil},
		{"one point of a path, and TCP", onePoint(), nil},
		{"TCP alone", partial()["TCP alone"], nil},
		{"nothing", &bench.Result{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, of(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// onePoint is a result with nothing to draw except RPC over TCP.
func onePoint() *bench.Result {
	r := small()
	tcp := r.Measured[8]
	r.Measured = []bench.Measurement{r.Measured[7], tcp, tcp}
	r.Measured[2].Size = 1 << 20
	bench.Conclude(r)
	return r
}

// TestChartsLooks: the lines of a panel look different, and a name looks the same everywhere.
func TestChartsLooks(t *testing.T) {
	for _, c := range charts(sample()) {
		looks := make(map[string]look)
		for _, p := range c.panels {
			names := make(map[look]string)
			for _, l := range p.lines {
				if other, ok := names[l.look]; ok && other != l.name {
					t.Errorf("%s: %q and %q look the same", c.name, other, l.name)
				}
				if other, ok := looks[l.name]; ok && other != l.look {
					t.Errorf("%s: %q has two looks", c.name, l.name)
				}
				names[l.look], looks[l.name] = l.name, l.look
			}
		}
	}
}

func TestFullest(t *testing.T) {
	r := small()
	if got, want := fullest(r, bench.IWARP), (combination{1, 1}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := fullest(r, bench.Loopback), (combination{1, 4}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := fullest(r, bench.IWARPCRC), (combination{}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
