package local

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

func read(size, span int) func(*Rig) Pair  { return func(r *Rig) Pair { return r.Read(size, span) } }
func write(size, span int) func(*Rig) Pair { return func(r *Rig) Pair { return r.Write(size, span) } }

// cases are what is compared. The goals beyond what is owed: NULL 4, READ of 64 KiB 0.40, READ of 1 MiB 0.92.
var cases = []Case{
	{Name: "null", Pair: (*Rig).Null, Bound: 8},
	{Name: "null-x64", Pair: func(r *Rig) Pair { return r.NullMany(64) }},
	{Name: "read-4KiB-hot", Pair: read(4*kib, 4*kib)},
	{Name: "write-4KiB-hot", Pair: write(4*kib, 4*kib)},
	{Name: "read-64KiB-hot", Pair: read(64*kib, 64*kib), Bound: 0.25},
	{Name: "read-64KiB-file", Pair: read(64*kib, FileSize), Bound: 0.25},
	{Name: "write-64KiB-hot", Pair: write(64*kib, 64*kib)},
	{Name: "read-1024KiB-hot", Pair: read(mib, mib)},
	{Name: "read-1024KiB-file", Pair: read(mib, FileSize), Bound: 0.80},
	{Name: "write-1024KiB-hot", Pair: write(mib, mib)},
	{Name: "write-1024KiB-file", Pair: write(mib, FileSize)},
}

// options returns those of the environment, or the defaults.
func options() (Options, error) {
	o := env.Default()
	o.Time = 20 * time.Millisecond
	o, err := env.Read(o)
	return Options{o.Starts, o.Rounds, o.Time}, err
}

// BenchmarkLocal measures; see the comment of the package. One iteration is a whole comparison.
func BenchmarkLocal(b *testing.B) {
	o, err := options()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range cases {
		b.Run(c.Name, func(b *testing.B) {
			var r *Result
			for b.Loop() {
				if r, err = o.Measure(b.Context(), &c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op") // the time of a comparison says nothing
			b.ReportMetric(r.Ratio.Median, "ratio")
			b.ReportMetric(r.Ratio.Q1, "ratio-q1")
			b.ReportMetric(r.Ratio.Q3, "ratio-q3")
			b.ReportMetric(r.Candidate, "candidate-ns")
			b.ReportMetric(r.Yardstick, "yardstick-ns")
			b.ReportMetric(r.Allocs, "candidate-allocs")
			b.ReportMetric(float64(r.Collections), "collections")
		})
	}
}

// TestLocal demands the bounds, if BENCH_GATE is set: a busy machine must not fail a change.
func TestLocal(t *testing.T) {
	if !env.Gate() {
		t.Skip("BENCH_GATE is not set")
	}
	o, err := options()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := o.Measure(t.Context(), &c)
			if err != nil {
				t.Fatal(err)
			}
			for _, missed := range c.Missed(r) {
				t.Error(missed)
			}
		})
	}
}
