package local

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// bound returns p with what is owed.
func bound(p Pair, owed float64) Pair {
	p.Bound = owed
	return p
}

// pairs are what is compared. The goals beyond what is owed: NULL 4, READ of 64 KiB 0.40, READ of 1 MiB 0.92.
func pairs(r *Rig) []Pair {
	return []Pair{
		bound(r.Null(), 8),
		r.NullMany(64),
		r.Read(4*kib, 4*kib),
		r.Write(4*kib, 4*kib),
		bound(r.Read(64*kib, 64*kib), 0.25),
		bound(r.Read(64*kib, FileSize), 0.25),
		r.Write(64*kib, 64*kib),
		bound(r.Read(mib, mib), 0.80),
		bound(r.Read(mib, FileSize), 0.80),
		r.Write(mib, mib),
		r.Write(mib, FileSize),
	}
}

// options returns those of the environment, or the defaults.
func options() (Options, error) {
	rounds, err1 := strconv.Atoi(cmp.Or(os.Getenv("LOCAL_ROUNDS"), "20"))
	length, err2 := time.ParseDuration(cmp.Or(os.Getenv("LOCAL_TIME"), "20ms"))
	return Options{max(1, rounds), length}, errors.Join(err1, err2)
}

func newRig(tb testing.TB) *Rig {
	tb.Helper()
	r, err := NewRig(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// BenchmarkLocal measures; see the comment of the package. One iteration is a whole comparison.
func BenchmarkLocal(b *testing.B) {
	o, err := options()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range pairs(newRig(b)) {
		b.Run(p.Name, func(b *testing.B) {
			var r *Result
			for b.Loop() {
				if r, err = o.Measure(&p); err != nil {
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

// TestLocal demands the bounds, if LOCAL_GATE is set: a busy machine must not fail a change.
func TestLocal(t *testing.T) {
	if os.Getenv("LOCAL_GATE") == "" {
		t.Skip("LOCAL_GATE is not set")
	}
	o, err := options()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs(newRig(t)) {
		t.Run(p.Name, func(t *testing.T) {
			r, err := o.Measure(&p)
			if err != nil {
				t.Fatal(err)
			}
			for _, missed := range p.Missed(r) {
				t.Error(missed)
			}
		})
	}
}
