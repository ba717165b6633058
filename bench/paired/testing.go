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

	// Bound is the ratio that Gate demands: at most this for Latency, otherwise at least this. Zero
	// demands nothing.
	Bound float64
	// Above is a ratio that Gate demands the whole 95 % interval to be above. Zero demands nothing.
	// It is not for Latency. A difference of some percent takes 200 rounds or more to show.
	Above float64
	// MaxCPU is the most CPU time at both ends, as a multiple of the yardstick's, that Gate permits
	// if Bound or Above is set. Zero permits any.
	MaxCPU float64
	// Time is the length of a round if the environment does not set it; zero means package env's
	// default.
	Time time.Duration
	// MaxAllocs is the most allocations for each operation, at either end, that Gate permits if
	// Bound or Above is set.
	MaxAllocs float64
}

// options returns the options of the environment.
func (c Comparison) options() (Options, error) {
	o := env.Default()
	o.Time = cmp.Or(c.Time, o.Time)
	return env.Read(o)
}

// Bench runs each comparison as a sub-benchmark, with the options of the environment. At the end it
// prints a table of all.
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
	b.ReportMetric(0, "ns/op") // the time of a whole comparison says nothing
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

// Gate runs each comparison that demands something as a subtest, which fails if the demand is
// missed. It skips the test unless BENCH_GATE is set, because a busy machine must not fail a
// change.
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
