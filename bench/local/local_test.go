package local

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// TestCases runs each case for a moment: what is measured is done.
func TestCases(t *testing.T) {
	o := Options{Rounds: 2, Time: time.Millisecond}
	rig := newRig(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			procs := runtime.GOMAXPROCS(0)
			p := c.Pair(rig)
			var s samples
			if err := o.rounds(&p, &s); err != nil {
				t.Fatal(err)
			}
			if r := s.result(); r.Ratio.Median <= 0 || r.Candidate <= 0 || r.Yardstick <= 0 || len(s.ratios) != 2 {
				t.Errorf("got %+v of %d rounds, want times and their ratio of 2", r, len(s.ratios))
			}
			if got := runtime.GOMAXPROCS(0); got != procs {
				t.Errorf("GOMAXPROCS is %d afterwards, want %d", got, procs)
			}
		})
	}
}

// TestStarts: each start has a rig of its own, and all rounds count.
func TestStarts(t *testing.T) {
	var rigs []*Rig
	c := Case{Name: "case", Pair: func(r *Rig) Pair {
		rigs = append(rigs, r)
		return r.Null()
	}}
	r, err := Options{Starts: 2, Rounds: 1, Time: time.Millisecond}.Measure(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	if len(rigs) != 2 || rigs[0] == rigs[1] || r.Metric != Latency {
		t.Errorf("got %d rigs, and %+v", len(rigs), r)
	}
}

// TestBytes: a READ brings what the copy beside it brings, from each place in the file.
func TestBytes(t *testing.T) {
	r := newRig(t)
	for _, size := range []int{4 * kib, 64 * kib, mib} {
		p := r.Read(size, 3*size)
		for i := range 7 {
			if err := p.Yardstick(1); err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(r.buf[:size])
			clear(r.buf)
			if err := p.Candidate(1); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.buf[:size], want) {
				t.Fatalf("READ %d of %d bytes brought other bytes than the copy", i, size)
			}
		}
	}
}

func TestWalk(t *testing.T) {
	w := walk{size: 4, span: 12}
	var got []int
	for range 7 {
		got = append(got, w.next())
	}
	if diff := cmp.Diff([]int{0, 4, 8, 0, 4, 8, 0}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMissed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		metric Metric
		bound  float64
		ratio  float64
		allocs float64
		want   int
	}{
		{"rate, as owed", Rate, 0.8, 0.8, 0, 0},
		{"rate, less", Rate, 0.8, 0.79, 0, 1},
		{"latency, as owed", Latency, 8, 8, 0, 0},
		{"latency, more", Latency, 8, 8.1, 0, 1},
		{"allocates", Rate, 0.8, 1, 1, 1},
		{"both", Rate, 0.8, 0.1, 1, 2},
		{"nothing is owed", Rate, 0, 0.1, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Case{Bound: tt.bound}
			if got := c.Missed(&Result{Metric: tt.metric, Ratio: spread.Spread{Median: tt.ratio}, Allocs: tt.allocs}); len(got) != tt.want {
				t.Errorf("got %q, want %d demands missed", got, tt.want)
			}
		})
	}
}

// TestFails: an operation that fails ends the measurement with its error.
func TestFails(t *testing.T) {
	broken := errors.New("broken")
	fine := func(int) error { time.Sleep(time.Millisecond); return nil }
	calls := 0
	late := func(int) error {
		if calls++; calls > 1 {
			return broken
		}
		return fine(0)
	}
	o := Options{Rounds: 2, Time: time.Millisecond}
	for name, p := range map[string]Pair{
		"yardstick":  {Yardstick: func(int) error { return broken }, Candidate: fine},
		"candidate":  {Yardstick: fine, Candidate: func(int) error { return broken }},
		"later":      {Yardstick: fine, Candidate: late},
		"in batches": {Metric: Latency, Yardstick: fine, Candidate: func(int) error { return broken }},
	} {
		if err := o.rounds(&p, new(samples)); !errors.Is(err, broken) {
			t.Errorf("%s: got %v, want %v", name, err, broken)
		}
	}
}
