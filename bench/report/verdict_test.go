package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		in   bench.Recommendation
		want string
	}{
		{bench.Recommendation{}, "No recommendation: this run does not tell."},
		{bench.Recommendation{Path: bench.IWARP}, "For iwarp no recommendation: this run does not tell."},
		{bench.Recommendation{Path: bench.IWARP, InlineSend: 4096, InlineRecv: 4096, MinChunk: 3584},
			"For iwarp: inline threshold 4 KiB both ways, minimum chunk size 3.5 KiB."},
		{bench.Recommendation{Path: bench.IWARP, InlineSend: 4096, InlineRecv: 8192, MinChunk: 3584},
			"For iwarp: inline threshold 4 KiB for calls and 8 KiB for replies, minimum chunk size 3.5 KiB."},
		{bench.Recommendation{Path: bench.Loopback, InlineRecv: 8192, MinChunk: 7680},
			"For loopback: inline threshold 8 KiB for replies, minimum chunk size 7.5 KiB."},
	} {
		if got := advice(&tt.in); got != tt.want {
			t.Errorf("advice(%+v): got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	at := func(path bench.Path, chunk bench.Way, size int) bench.Crossover {
		return bench.Crossover{Path: path, Chunk: chunk, Size: size, Up: 32 << 10, Gain: float64(size) / 4096}
	}
	slow := at(bench.Loopback, bench.ReadChunk, 0)
	slow.Gain = .8
	none, always := at(bench.IWARP, bench.ReadChunk, 0), at(bench.IWARP, bench.ReadChunk, 0)
	always.Always = true
	type line struct{ What, Where, Gain string }
	for _, tt := range []struct {
		name string
		in   []bench.Crossover
		want []line
	}{
		{"nothing", nil, nil},
		{"one", []bench.Crossover{at(bench.IWARP, bench.ReadChunk, 8192)},
			[]line{{"iwarp, calls, read chunk", "8 KiB", "chunk 2.00 times as fast at 32 KiB"}}},
		{"inline", []bench.Crossover{slow}, []line{{"loopback, calls, read chunk", "beyond 32 KiB", "inline 1.25 times as fast at 32 KiB"}}},
		{"the median, and the range", []bench.Crossover{none, always, at(bench.IWARP, bench.ReadChunk, 8192)},
			[]line{{"iwarp, calls, read chunk", "8 KiB (all sizes to beyond 32 KiB)", "chunk 2.00 times as fast at 32 KiB"}}},
		{"each path and direction", []bench.Crossover{
			at(bench.Loopback, bench.WriteChunk, 4096), at(bench.IWARP, bench.WriteChunk, 8192), at(bench.Loopback, bench.WriteChunk, 2048),
			at(bench.Loopback, bench.ReadChunk, 16384),
		}, []line{
			{"loopback, replies, write chunk", "4 KiB (2 KiB to 4 KiB)", "chunk 1.00 times as fast at 32 KiB"},
			{"iwarp, replies, write chunk", "8 KiB", "chunk 2.00 times as fast at 32 KiB"},
			{"loopback, calls, read chunk", "16 KiB", "chunk 4.00 times as fast at 32 KiB"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []line
			for _, v := range verdicts(&bench.Result{Crossovers: tt.in}) {
				got = append(got, line{v.what(), v.Where(), v.Gain()})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
