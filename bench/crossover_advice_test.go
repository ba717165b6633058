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
	on := func(path Path, inFlight int, m []Measurement) []Measurement {
		for i := range m {
			m[i].Path, m[i].InFlight = path, inFlight
		}
		return m
	}
	both := func(calls, replies []float64) []Measurement {
		return slices.Concat(pairs(InlineCall, ReadChunk, fours, calls...), pairs(InlineReply, WriteChunk, fours, replies...))
	}
	for _, tt := range []struct {
		name     string
		measured []Measurement
		want     Recommendation
	}{
		{"none measured", nil, Recommendation{Why: []string{
			"No recommendation, because no size was measured both inline and by chunk.",
		}}},
		{"each direction its own", both([]float64{.5, .8, .8, 1.25, 2}, []float64{.5, .6, .7, .8, 1.25}), Recommendation{
			Path: IWARP, InlineSend: 7 << 10, InlineRecv: 25 << 10, MinChunk: 6656,
			Why: []string{
				"Calls: inline is faster up to 6.0 KiB of payload, which takes 7 KiB with headers.",
				"Replies: inline is faster up to 23.8 KiB of payload, which takes 25 KiB with headers.",
				"Minimum chunk size: the smaller of the two, less 512 B for headers. So payload that does not fit inline goes by chunk.",
				"With 64 credits, receives of 25 KiB take up to 1.6 MiB for each connection.",
			},
		}},
		{"a tie goes to the smaller", both([]float64{.5, .97, .97, 1.01}, []float64{1, 1, 1, 1}), Recommendation{
			Path: IWARP, InlineSend: 4 << 10, InlineRecv: 4 << 10, MinChunk: 3584,
			Why: []string{
				"Calls: inline is not faster by 10 % for payloads that do not fit in the default, 4 KiB. A smaller size would not hold small messages.",
				"Replies: inline is not faster by 10 % for payloads that do not fit in the default, 4 KiB. A smaller size would not hold small messages.",
				"Minimum chunk size: the smaller of the two, less 512 B for headers. So payload that does not fit inline goes by chunk.",
				"With 64 credits, receives of 4 KiB take up to 256 KiB for each connection.",
			},
		}},
		{"inline always", both([]float64{.5, .6, .7}, []float64{.5, .6, .7, .8, .8}), Recommendation{
			Path: IWARP, InlineSend: 5 << 10, InlineRecv: 64 << 10, MinChunk: 4608,
			Why: []string{
				"Calls: inline is faster up to 4 KiB of payload, which takes 5 KiB with headers. Larger payloads were not measured inline.",
				"Replies: inline is faster up to 63.5 KiB of payload, which takes 64 KiB with headers. This is the largest inline size.",
				"Minimum chunk size: the smaller of the two, less 512 B for headers. So payload that does not fit inline goes by chunk.",
				"With 64 credits, receives of 64 KiB take up to 4 MiB for each connection.",
			},
		}},
		{"one direction tells too little", both([]float64{.5}, []float64{.5, .5, .5, 2}), Recommendation{
			Path: IWARP, InlineRecv: 9 << 10,
			Why: []string{
				"Calls: no recommendation, because 256 B is the only size measured both inline and by read chunk.",
				"Replies: inline is faster up to 8 KiB of payload, which takes 9 KiB with headers.",
				"With 64 credits, receives of 9 KiB take up to 576 KiB for each connection.",
			},
		}},
		{"they differ", slices.Concat(
			on(IWARP, 1, both([]float64{.5, .5, .5, .6}, nil)),
			on(IWARP, 64, both([]float64{.5, .5, .5, 1.25}, nil)),
		), Recommendation{
			Path: IWARP, InlineSend: 17 << 10,
			Why: []string{
				"Calls: inline is faster up to 16 KiB of payload, which takes 17 KiB with headers. It depends on calls in flight and connections; this size loses the least over all of them. Larger payloads were not measured inline.",
				"Replies: no recommendation, because no size was measured both inline and by write chunk.",
				"With 64 credits, receives of 17 KiB take up to 1.1 MiB for each connection.",
			},
		}},
		{"the path with most data over a wire", slices.Concat(
			on(Loopback, 1, both([]float64{.5, .5, .5, .5, .5, .5}, []float64{.5, .5, .5, .5, .5, .5})),
			on(IWARP, 1, both([]float64{.5, 2}, nil)),
			on(IWARPCRC, 1, both([]float64{.5, .5, .5, 2}, nil)),
			on(IWARPCRC, 8, both([]float64{.5, .5, .5, 4}, nil)),
			on(IWARPCRC, 64, both([]float64{.5, 4, 4, 4}, nil)),
		), Recommendation{
			Path: IWARPCRC, InlineSend: 7 << 10,
			Why: []string{
				"Calls: inline is faster up to 5.7 KiB of payload, which takes 7 KiB with headers. It depends on calls in flight and connections; this size loses the least over all of them.",
				"Replies: no recommendation, because no size was measured both inline and by write chunk.",
				"With 64 credits, receives of 7 KiB take up to 448 KiB for each connection.",
			},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Result{Measured: tt.measured}
			Conclude(&r)
			// All rounds are alike.
			tt.want.SendRange = Range{tt.want.InlineSend, tt.want.InlineSend}
			tt.want.RecvRange = Range{tt.want.InlineRecv, tt.want.InlineRecv}
			if diff := cmp.Diff(tt.want, r.Advice); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecommendationBounds: a recommendation is always a valid setting, whatever was measured.
func TestRecommendationBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.Custom(func(t *rapid.T) Measurement {
			m := at(
				rapid.SampledFrom([]Way{InlineCall, ReadChunk, InlineReply, WriteChunk}).Draw(t, "way"),
				rapid.IntRange(1, 4<<20).Draw(t, "size"),
				rapid.Float64Range(.001, 1e5).Draw(t, "MB/s"))
			m.Path = rapid.SampledFrom([]Path{Loopback, IWARP, TCP}).Draw(t, "path")
			return m
		})
		measured := rapid.SliceOf(point).Draw(t, "measured")
		for _, m := range slices.Clone(measured) { // otherwise most sizes would have no partner
			m.Way = map[Way]Way{InlineCall: ReadChunk, ReadChunk: InlineCall, InlineReply: WriteChunk, WriteChunk: InlineReply}[m.Way]
			measured = append(measured, m)
		}
		r := Result{Measured: measured}
		Conclude(&r)
		a := r.Advice
		for _, n := range []int{a.InlineSend, a.InlineRecv} {
			if n%1024 != 0 || n != 0 && n < 4096 || n > rpcrdma.MaxInline {
				t.Errorf("got inline %d, want 0, or a multiple of 1024 from 4096 to %d", n, rpcrdma.MaxInline)
			}
		}
		if both := a.InlineSend > 0 && a.InlineRecv > 0; both != (a.MinChunk > 0) || both && a.MinChunk > min(a.InlineSend, a.InlineRecv)-headerRoom {
			t.Errorf("got %+v, want payload to go by chunk wherever it does not fit inline", a)
		}
		for _, x := range r.Crossovers {
			ordered := x.InlineTo < max(x.EitherTo, x.ChunkFrom, x.InlineTo+1) && (x.ChunkFrom == 0 || max(x.EitherTo, x.InlineTo) <= x.ChunkFrom)
			if !ordered || x.ChunkFrom == 0 && max(x.InlineTo, x.EitherTo) != x.Up {
				t.Errorf("got %+v, want inline, either and chunks to follow each other up to the last size", x)
			}
		}
		if len(a.Why) == 0 || strings.Contains(strings.Join(a.Why, ""), "NaN") {
			t.Errorf("got why %q", a.Why)
		}
	})
}
