package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// vary spreads the throughputs of each point's rounds by up to the factor 1+by in both directions.
func vary(m []Measurement, by float64) []Measurement {
	for i := range m {
		m[i].Rounds = nil
		for j, x := range []float64{1, 1 + by, 1 / (1 + by), 1 + by/2, 1 / (1 + by/2), 1, 1 + by, 1 / (1 + by)} {
			if i%2 == 1 && j%2 == 1 {
				x = 1 / x
			}
			m[i].Rounds = append(m[i].Rounds, Round{Calls: int64(float64(m[i].Calls) * x), Elapsed: m[i].Elapsed})
		}
	}
	return m
}

// TestDoubt: a crossover is known closely if rounds differ little. If they differ much, none is
// given.
func TestDoubt(t *testing.T) {
	ratios := []float64{.5, .8, 1.25, 2}
	cross := func() []Measurement { return pairs(InlineCall, ReadChunk, fours, ratios...) }
	for _, tt := range []struct {
		name     string
		measured []Measurement
		unsure   bool
		told     bool // a recommendation
	}{
		{"steady", vary(cross(), .02), false, true},
		{"unsteady", vary(pairs(InlineCall, ReadChunk, fours, .7, .8, .9, 1.1, 1.25, 1.5), 8), true, false},
		{"too few rounds", few(cross(), func(r []Round) []Round { return r[:2] }), true, false},
		{"too few that were not disturbed", few(cross(), func(r []Round) []Round {
			r[0].Disturbed = rounds.OthersBusy
			return r
		}), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Result{Measured: tt.measured}
			Conclude(&r)
			x := r.Crossovers[0]
			if x.Unsure != tt.unsure {
				t.Errorf("got %+v, want unsure %t", x, tt.unsure)
			}
			low, high := x.SizeRange.Low, x.SizeRange.High
			if !tt.unsure && (low > 2048 || high < 2048 || high > 2*low) {
				t.Errorf("got a crossing in %v, want around 2048", x.SizeRange)
			}
			a := r.Advice
			if told := a.InlineSend > 0; told != tt.told || told != !slices.Contains(a.Unsure, "calls") {
				t.Errorf("got %+v, want advice %t", a, tt.told)
			}
			if d := Decisions(r.Crossovers)[0]; tt.unsure && (d.Where() != "unsure" || !d.Unsure()) {
				t.Errorf("got %q, want unsure", d.Where())
			}
			var again Result
			again.Measured = tt.measured
			Conclude(&again)
			if again.Advice.SendRange != a.SendRange {
				t.Errorf("the same rounds come to %v, and to %v", a.SendRange, again.Advice.SendRange)
			}
		})
	}
}

// few applies change to the rounds of the first point.
func few(m []Measurement, change func([]Round) []Round) []Measurement {
	m[0].Rounds = change(slices.Clone(m[0].Rounds))
	return m
}

func TestRangeSteps(t *testing.T) {
	sizes := []int{256, 4 << 10, 16 << 10, 60 << 10}
	for _, tt := range []struct {
		Range
		want float64
	}{
		{Range{4 << 10, 4 << 10}, 0},
		{Range{4 << 10, 16 << 10}, 1},
		{Range{8 << 10, 16 << 10}, .5},
		{Range{256, 60 << 10}, 3},
		{Range{1, 1 << 20}, 3},
		{Range{0, 256}, 0},
	} {
		if got := tt.steps(sizes); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: got %v steps, want %v", tt.Range, got, tt.want)
		}
	}
	if !(Range{4 << 10, 17 << 10}).oneStep(sizes) || (Range{4 << 10, 20 << 10}).oneStep(sizes) {
		t.Error("one step is one size, and the room for headers")
	}
}

// TestDoubtLoss: if inline and chunks are close at all sizes, noise decides which one seems better.
// The default is still recommended if it loses little. If it may lose much, nothing is recommended.
func TestDoubtLoss(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ratios []float64 // of the chunk's throughput to inline's
		vary   float64
		want   int
	}{
		{"close", []float64{1, .91, .91, .91, .91, .91}, .05, leastAdvice},
		{"close in all that this tells", []float64{1, .91, .91, .91, .91, .91}, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sizes := []int{256, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 60 << 10}
			r := Result{Measured: vary(pairs(InlineCall, ReadChunk, sizes, tt.ratios...), tt.vary)}
			Conclude(&r)
			a := r.Advice
			if a.SendRange.oneStep(sizes) {
				t.Fatalf("got a range of %v: this tells", a.SendRange)
			}
			if a.InlineSend != tt.want || slices.Contains(a.Unsure, "calls") != (tt.want == 0) {
				t.Errorf("got %d, unsure %v, want %d: %q", a.InlineSend, a.Unsure, tt.want, a.Why)
			}
		})
	}
}
