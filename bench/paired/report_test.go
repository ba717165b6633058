package paired

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reported returns a report of three rounds. The machine halves its speed in the second round,
// which changes no ratio, and the third is an outlier.
func reported(m Metric) *Report {
	r := &Report{
		Yardstick: Scenario{Name: "raw", Metric: m, Bytes: 1000},
		Candidate: Scenario{Name: "ours", Metric: m, Bytes: 1000},
		Options:   Options{Starts: 1, Rounds: 3, Time: time.Second, Sockets: Sockets{Congestion: "reno"}, CPUs: []int{0, 1}},
	}
	measure := func(elapsed, p50 time.Duration, allocs uint64) Measurement {
		return Measurement{
			Operations: 1000,
			Elapsed:    elapsed,
			P50:        p50,
			Server:     Usage{CPU: 2 * time.Millisecond, Allocs: allocs},
			Client:     Usage{CPU: 3 * time.Millisecond},
		}
	}
	for _, slow := range []time.Duration{1, 2, 10} {
		yard := measure(min(slow, 2)*time.Millisecond, min(slow, 2)*time.Microsecond, 0)
		cand := measure(slow*4*time.Millisecond, slow*4*time.Microsecond, 500)
		r.Rounds = append(r.Rounds, Round{yard, cand})
		r.busy += (slow*4 + min(slow, 2)) * time.Millisecond / 4 // of somebody else
		r.busy += 2 * 5 * time.Millisecond                       // of ours
	}
	return r
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		metric          Metric
		ratio           float64
		unit, cpuUnit   string
		yardstick, ours Side
	}{
		{
			Throughput, 0.25, "MB/s", "cpu-ms/GB",
			Side{Value: 500, ServerCPU: 2000, ClientCPU: 3000},
			Side{Value: 125, ServerCPU: 2000, ClientCPU: 3000, ServerAllocs: 0.5},
		},
		{
			Rate, 0.25, "kop/s", "cpu-us/op",
			Side{Value: 500, ServerCPU: 2, ClientCPU: 3},
			Side{Value: 125, ServerCPU: 2, ClientCPU: 3, ServerAllocs: 0.5},
		},
		{
			Latency, 4, "us-p50", "cpu-us/op",
			Side{Value: 2, ServerCPU: 2, ClientCPU: 3},
			Side{Value: 8, ServerCPU: 2, ClientCPU: 3, ServerAllocs: 0.5},
		},
	} {
		t.Run(string(tt.metric), func(t *testing.T) {
			r := reported(tt.metric)
			if got := r.Ratio().Median; math.Abs(got-tt.ratio) > 1e-9 {
				t.Errorf("got a ratio of %v, want %v", got, tt.ratio)
			}
			if r.Unit() != tt.unit || r.CPUUnit() != tt.cpuUnit {
				t.Errorf("got units %s and %s, want %s and %s", r.Unit(), r.CPUUnit(), tt.unit, tt.cpuUnit)
			}
			yardstick, ours := r.Sides()
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
			if diff := cmp.Diff([]Side{tt.yardstick, tt.ours}, []Side{yardstick, ours}, near); diff != "" {
				t.Errorf("sides (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		metric Metric
		bound  Comparison
		want   int
	}{
		{"as many as wanted", Rate, Comparison{Bound: 0.25, MaxAllocs: 0.5}, 0},
		{"too few", Rate, Comparison{Bound: 0.26, MaxAllocs: 0.5}, 1},
		{"too slow", Throughput, Comparison{Bound: 0.26, MaxAllocs: 0.5}, 1},
		{"as late as permitted", Latency, Comparison{Bound: 4, MaxAllocs: 0.5}, 0},
		{"too late", Latency, Comparison{Bound: 3.9, MaxAllocs: 0.5}, 1},
		{"too many allocations", Rate, Comparison{Bound: 0.25, MaxAllocs: 0.4}, 1},
		{"as much CPU time as permitted", Rate, Comparison{Bound: 0.25, MaxAllocs: 0.5, MaxCPU: 1}, 0},
		{"too much CPU time", Rate, Comparison{Bound: 0.25, MaxAllocs: 0.5, MaxCPU: 0.99}, 1},
		{"all of the interval above", Rate, Comparison{Above: 0.04, MaxAllocs: 0.5}, 0},
		{"the interval begins below", Rate, Comparison{Above: 0.06, MaxAllocs: 0.5}, 1},
		{"all of it", Rate, Comparison{Bound: 1}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := reported(tt.metric).missed(tt.bound); len(got) != tt.want {
				t.Errorf("got %q, want %d misses", got, tt.want)
			}
		})
	}
}

func TestWriteTable(t *testing.T) {
	var out strings.Builder
	if err := WriteTable(&out, []*Report{reported(Throughput), reported(Latency)}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var got [][]string
	for _, line := range lines[:3] {
		got = append(got, strings.Fields(line))
	}
	want := [][]string{
		{"candidate", "yardstick", "ratio", "quartiles", "unit", "yardstick", "candidate", "CPU", "unit", "yardstick", "candidate", "CPU", "ratio", "allocs/op", "others"},
		{"ours", "raw", "0.25", "0.15-0.25", "MB/s", "500", "125", "cpu-ms/GB", "2000/3000", "2000/3000", "1.00", "0.50/0.00", "25%"},
		{"ours", "raw", "4.00", "4.00-12.00", "us-p50", "2.00", "8.00", "cpu-us/op", "2.00/3.00", "2.00/3.00", "1.00", "0.50/0.00", "25%"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if want := "1 starts, 3 rounds of 1s each, server on CPU 0, client on CPU 1, congestion control reno, "; !strings.HasPrefix(lines[3], want) {
		t.Errorf("got conditions %q, want %q", lines[3], want)
	}
}
