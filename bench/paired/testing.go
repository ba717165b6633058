package paired

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
)

// Comparison names two scenarios to compare.
type Comparison struct {
	Yardstick, Candidate string

	// Bound is the ratio that Gate demands: at most this for Latency, else at least
	// this. Zero demands nothing.
	Bound float64
	// Above is what Gate demands the whole 95 % interval of the ratio to lie above, for other
	// metrics than Latency. Zero demands nothing. It takes 200 rounds or more to say something of
	// percents.
	Above float64
	// MaxCPU is the CPU time at both ends, as a multiple of the yardstick's, that Gate permits when
	// Bound or Above is not zero. Zero permits any.
	MaxCPU float64
	// Time is the length of a round where the environment does not say; zero means that of package
	// env.
	Time time.Duration
	// MaxAllocs is the number of allocations for each operation, at either end, that
	// Gate permits when Bound or Above is not zero.
	MaxAllocs float64
}

// options returns those of the environment.
func (c Comparison) options() (Options, error) {
	o := env.Default()
	o.Time = cmp.Or(c.Time, o.Time)
	return env.Read(o)
}

// Bench makes each comparison in a benchmark of its own, with the options of the environment, and
// prints them all as a table in the end.
func Bench(b *testing.B, comparisons ...Comparison) {
	var reports []*Report
	for _, c := range comparisons {
		b.Run(c.Candidate, func(b *testing.B) {
			o, err := c.options()
			if err != nil {
				b.Fatal(err)
			}
			var r *Report
			for b.Loop() {
				if r, err = Compare(b.Context(), o, c.Yardstick, c.Candidate); err != nil {
					b.Fatal(err)
				}
			}
			r.metrics(b)
			reports = append(reports, r)
		})
	}
	if err := WriteTable(os.Stdout, reports); err != nil {
		b.Error(err)
	}
}

// metrics adds the figures of r to the result of b.
func (r *Report) metrics(b *testing.B) {
	ratio := r.Ratio()
	y, c := r.Sides()
	b.ReportMetric(0, "ns/op") // the time of a comparison says nothing
	b.ReportMetric(ratio.Median, "ratio")
	b.ReportMetric(ratio.Q1, "ratio-q1")
	b.ReportMetric(ratio.Q3, "ratio-q3")
	low, high := r.Interval()
	b.ReportMetric(low, "ratio-95%-from")
	b.ReportMetric(high, "ratio-95%-to")
	b.ReportMetric(c.Value, r.Unit())
	b.ReportMetric(y.Value, "yardstick-"+r.Unit())
	b.ReportMetric(r.CPU().Median, "cpu-ratio")
	b.ReportMetric(c.ServerCPU, "server-"+r.CPUUnit())
	b.ReportMetric(c.ClientCPU, "client-"+r.CPUUnit())
	b.ReportMetric(c.ServerAllocs, "server-allocs/op")
	b.ReportMetric(c.ClientAllocs, "client-allocs/op")
	b.ReportMetric(100*r.OtherCPU(), "%others")
}

// Gate makes each comparison that has a Bound in a test of its own, and fails where it
// is missed. It skips the test unless BENCH_GATE is set: a busy machine must not
// fail a change.
func Gate(t *testing.T, comparisons ...Comparison) {
	if !env.Gate() {
		t.Skip("BENCH_GATE is not set")
	}
	for _, c := range comparisons {
		if c.Bound == 0 && c.Above == 0 {
			continue
		}
		t.Run(c.Candidate, func(t *testing.T) {
			o, err := c.options()
			if err != nil {
				t.Fatal(err)
			}
			r, err := Compare(t.Context(), o, c.Yardstick, c.Candidate)
			if err != nil {
				t.Fatal(err)
			}
			for _, missed := range r.missed(c) {
				t.Error(missed)
			}
		})
	}
}
