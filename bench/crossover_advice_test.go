package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

func TestRecommendation(t *testing.T) {
	on := func(path Path, inFlight int, m []Measured) []Measured {
		for i := range m {
			m[i].Path, m[i].InFlight = path, inFlight
		}
		return m
	}
	both := func(calls, replies []float64) []Measured {
		return slices.Concat(pairs(InlineCall, ReadChunk, fours, calls...), pairs(InlineReply, WriteChunk, fours, replies...))
	}
	for _, tt := range []struct {
		name     string
		measured []Measured
		want     Recommendation
	}{
		{"none measured", nil, Recommendation{Why: []string{
			"No size was measured both inline and by chunk, so this run cannot recommend anything.",
		}}},
		{"each direction its own", both([]float64{.5, .8, 1.25, 2}, []float64{.5, .6, .7, .8, 1.25}), Recommendation{
			Path: IWARP, InlineSend: 2 << 10, InlineRecv: 28 << 10, MinChunk: 1536,
			Why: []string{
				"Calls: up to about 1.7 KiB inline is faster by 5 % or more (at 1 KiB inline 1.25 times as fast); above, a read chunk will do (at 4 KiB the chunk 1.25 times as fast).",
				"Replies: up to about 27.5 KiB inline is faster by 5 % or more (at 16 KiB inline 1.25 times as fast); above, a write chunk will do (at 64 KiB the chunk 1.25 times as fast).",
				"Receives of 28 KiB for 64 credits take up to 1.8 MiB a connection.",
			},
		}},
		{"a tie goes to the smaller", both([]float64{.5, .97, .97, 1.01}, []float64{1, 1, 1, 1}), Recommendation{
			Path: IWARP, InlineSend: 1 << 10, InlineRecv: 1 << 10, MinChunk: 512,
			Why: []string{
				"Calls: up to about 985 B inline is faster by 5 % or more (at 256 B inline 2.00 times as fast); above, a read chunk will do (at 1 KiB inline 1.03 times as fast).",
				"Replies: inline is at no size faster by 5 % (equal at 256 B, equal at 16 KiB), so the smallest threshold will do.",
				"Receives of 1 KiB for 64 credits take up to 64 KiB a connection.",
			},
		}},
		{"inline always", both([]float64{.5, .6, .7}, []float64{.5, .6, .7, .8, .9}), Recommendation{
			Path: IWARP, InlineSend: 5 << 10, InlineRecv: 64 << 10, MinChunk: 4608,
			Why: []string{
				"Calls: inline is faster at all sizes up to 4 KiB (1.43 times as fast there); larger ones were not measured inline.",
				"Replies: inline is faster at all sizes up to 64 KiB (1.11 times as fast there); inline goes no further.",
				"Receives of 64 KiB for 64 credits take up to 4 MiB a connection.",
			},
		}},
		{"one direction tells too little", both([]float64{.5}, []float64{.5, .5, 2}), Recommendation{
			Path: IWARP, InlineRecv: 2 << 10,
			Why: []string{
				"Calls: only 256 B was measured both inline and by read chunk, which is too little to recommend anything.",
				"Replies: up to about 1.9 KiB inline is faster by 5 % or more (at 1 KiB inline 2.00 times as fast); above, a write chunk will do (at 4 KiB the chunk 2.00 times as fast).",
				"Receives of 2 KiB for 64 credits take up to 128 KiB a connection.",
			},
		}},
		{"the path with most data over a wire, and its median", slices.Concat(
			on(Loopback, 1, both([]float64{.5, .5, .5, .5, .5, .5}, []float64{.5, .5, .5, .5, .5, .5})),
			on(IWARP, 1, both([]float64{.5, 2}, nil)),
			on(IWARPCRC, 1, both([]float64{.5, .5, 2}, nil)),
			on(IWARPCRC, 8, both([]float64{.5, .5, 4}, nil)),
			on(IWARPCRC, 64, both([]float64{.5, 4, 4}, nil)),
		), Recommendation{
			Path: IWARPCRC, InlineSend: 2 << 10, MinChunk: 1536,
			Why: []string{
				"Calls: up to about 1.5 KiB inline is faster by 5 % or more (at 1 KiB inline 2.00 times as fast); above, a read chunk will do (at 4 KiB the chunk 4.00 times as fast).",
				"Replies: no size was measured both inline and by write chunk, so nothing is recommended.",
				"Receives of 2 KiB for 64 credits take up to 128 KiB a connection.",
			},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Result{Measured: tt.measured}
			Conclude(&r)
			if diff := cmp.Diff(tt.want, r.Advice); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecommendationBounds shows that what is recommended can be set, whatever was measured.
func TestRecommendationBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.Custom(func(t *rapid.T) Measured {
			m := at(
				rapid.SampledFrom([]Way{InlineCall, ReadChunk, InlineReply, WriteChunk}).Draw(t, "way"),
				rapid.IntRange(1, 4<<20).Draw(t, "size"),
				rapid.Float64Range(.001, 1e5).Draw(t, "MB/s"))
			m.Path = rapid.SampledFrom([]Path{Loopback, IWARP, TCP}).Draw(t, "path")
			return m
		})
		measured := rapid.SliceOf(point).Draw(t, "measured")
		for _, m := range slices.Clone(measured) { // most sizes would have no partner
			m.Way = map[Way]Way{InlineCall: ReadChunk, ReadChunk: InlineCall, InlineReply: WriteChunk, WriteChunk: InlineReply}[m.Way]
			measured = append(measured, m)
		}
		r := Result{Measured: measured}
		Conclude(&r)
		a := r.Advice
		for _, n := range []int{a.InlineSend, a.InlineRecv} {
			if n%1024 != 0 || n < 0 || n > rpcrdma.MaxInline {
				t.Errorf("got inline %d, want a multiple of 1024 up to %d", n, rpcrdma.MaxInline)
			}
		}
		if (a.InlineSend > 0) != (a.MinChunk > 0) || a.MinChunk > max(0, a.InlineSend-headerRoom) {
			t.Errorf("got %+v, want calls that do not fit inline to go by chunk", a)
		}
		if len(a.Why) == 0 || strings.Contains(strings.Join(a.Why, ""), "NaN") {
			t.Errorf("got why %q", a.Why)
		}
	})
}
