package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDecisions: the decisions for given curves.
func TestDecisions(t *testing.T) {
	type said struct {
		where, gain string
		agree       bool
	}
	for _, tt := range []struct {
		name string
		// Chunk's throughput over inline's at 256 B, 1 KiB, 4 KiB, ... for 1, 2, 3, ... calls in
		// flight.
		ratios [][]float64
		want   said
	}{
		{"a crossing", [][]float64{{.5, .8, 1.25, 2}}, said{"chunks from 2 KiB", "at 16 KiB the chunk 2.00 times as fast", true}},
		{"inline", [][]float64{{.5, .6, .7}}, said{"inline at all sizes up to 4 KiB", "at 4 KiB inline 1.43 times as fast", true}},
		{"chunks", [][]float64{{1.2, 1.5}}, said{"chunks at all sizes from 256 B", "at 1 KiB the chunk 1.50 times as fast", true}},
		{"either", [][]float64{{.95, 1.05, 1}}, said{"either will do at all sizes up to 4 KiB (within 10 %)", "at 4 KiB both are equally fast", true}},
		{"either, then chunks", [][]float64{{.95, 1.05, 1, 1.2}}, said{"either will do up to 4 KiB (within 10 %), chunks from 16 KiB", "at 16 KiB the chunk 1.20 times as fast", true}},
		{"inline, then either", [][]float64{{.5, 1.05, 1}}, said{"inline up to 256 B, either will do up to 4 KiB (within 10 %)", "at 4 KiB both are equally fast", true}},
		{"all three", [][]float64{{.5, .97, 1, 2}}, said{"inline up to 256 B, either will do up to 4 KiB (within 10 %), chunks from 16 KiB", "at 16 KiB the chunk 2.00 times as fast", true}},
		{"wider noise is said", [][]float64{{.5, 1.02, .8, 1.2, .9, 2}}, said{"inline up to 4 KiB, no clear lead up to 64 KiB (20 % either way), chunks from 256 KiB", "at 256 KiB the chunk 2.00 times as fast", true}},
		{"a size that does not fit in", [][]float64{{1.5, 1.5, 1.2, .8, 1.3}}, said{"chunks at all sizes from 256 B (but not at 16 KiB)", "at 64 KiB the chunk 1.30 times as fast", true}},
		{"they agree", [][]float64{{.5, .8, 1.25, 2}, {.5, .8, 1.25, 1.5}}, said{"chunks from 2 KiB", "at 16 KiB the chunk 1.50 to 2.00 times as fast", true}},
		{"they agree up to what is between two sizes", [][]float64{{.5, .8, 1.25, 2}, {.5, .8, 1.6, 2}},
			said{"chunks from between 1.6 KiB and 2 KiB", "at 16 KiB the chunk 2.00 times as fast", true}},
		{"one of two crosses", [][]float64{{.5, .5, .7}, {.5, .5, 1.25}}, said{
			"depends: inline at all sizes up to 4 KiB with 1 call in flight on 1 connection; chunks from 2.9 KiB with 2 calls in flight on 1 connection",
			"at 4 KiB inline 1.43 times as fast to the chunk 1.25 times as fast", false}},
		{"two of three agree", [][]float64{{.5, .5, .7}, {.5, .5, 1.25}, {.5, .5, .8}}, said{
			"depends: inline at all sizes up to 4 KiB with 1 and 3 calls in flight on 1 connection; chunks from 2.9 KiB with 2 calls in flight on 1 connection",
			"at 4 KiB inline 1.43 times as fast to the chunk 1.25 times as fast", false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m []Measurement
			for i, ratios := range tt.ratios {
				for _, p := range pairs(InlineCall, ReadChunk, fours, ratios...) {
					p.InFlight = i + 1
					m = append(m, p)
				}
			}
			r := Result{Measured: m}
			Conclude(&r)
			all := Decisions(r.Crossovers)
			if len(all) != 1 {
				t.Fatalf("got %d decisions, want 1", len(all))
			}
			d := all[0]
			got := said{d.Where(), d.Gain(), d.Agree()}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(said{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
