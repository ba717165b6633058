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
		{bench.Recommendation{}, "No recommendation, because too little was measured."},
		{bench.Recommendation{Path: bench.IWARP}, "For iwarp: no recommendation, because too little was measured."},
		{bench.Recommendation{Path: bench.IWARP, InlineSend: 4096, InlineRecv: 4096, MinChunk: 3584},
			"For iwarp: inline threshold 4 KiB both ways, minimum chunk size 3.5 KiB."},
		{bench.Recommendation{Path: bench.IWARP, InlineSend: 4096, InlineRecv: 8192, MinChunk: 3584},
			"For iwarp: inline threshold 4 KiB for calls and 8 KiB for replies, minimum chunk size 3.5 KiB."},
		{bench.Recommendation{Path: bench.Loopback, InlineRecv: 8192, MinChunk: 7680},
			"For loopback: inline threshold 8 KiB for replies, minimum chunk size 7.5 KiB."},
		{bench.Recommendation{Path: bench.IWARP, Unsure: []string{"calls", "replies"}},
			"For iwarp: no recommendation, because the rounds are too noisy: rerun with --full, or on a quieter machine."},
		{bench.Recommendation{Path: bench.IWARP, InlineSend: 4096, Unsure: []string{"replies"}},
			"For iwarp: inline threshold 4 KiB for calls, none for replies, because the rounds are too noisy: rerun with --full, or on a quieter machine."},
	} {
		r := bench.Result{Grid: "quick", Advice: tt.in}
		if got := advice(&r); got != tt.want {
			t.Errorf("advice(%+v): got %q, want %q", tt.in, got, tt.want)
		}
	}
	r := bench.Result{Grid: "full", Advice: bench.Recommendation{Path: bench.IWARP, Unsure: []string{"calls"}}}
	if got, want := advice(&r), "For iwarp: no recommendation, because the rounds are too noisy: rerun with more --time, or on a quieter machine."; got != want {
		t.Errorf("of a full run: got %q, want %q", got, want)
	}
}

// TestBrief checks the short text of a decision and its marks in a chart.
func TestBrief(t *testing.T) {
	x := bench.Crossover{Path: bench.IWARP, Inline: bench.InlineCall, Chunk: bench.ReadChunk, InFlight: 1, Conns: 1, Least: 256, Up: 32 << 10}
	with := func(change func(*bench.Crossover)) bench.Crossover {
		y := x
		change(&y)
		return y
	}
	crossing := with(func(x *bench.Crossover) { x.InlineTo, x.ChunkFrom, x.Size = 4096, 8192, 8192 })
	for _, tt := range []struct {
		name  string
		in    []bench.Crossover
		want  string
		marks []mark // of the first
	}{
		{"a crossing", []bench.Crossover{crossing}, "chunks from 8 KiB", []mark{{8192, "chunks from 8 KiB"}}},
		{"inline", []bench.Crossover{with(func(x *bench.Crossover) { x.InlineTo = 32 << 10 })}, "inline up to 32 KiB", nil},
		{"chunks", []bench.Crossover{with(func(x *bench.Crossover) { x.ChunkFrom = 256 })}, "chunks from 256 B", nil},
		{"either", []bench.Crossover{with(func(x *bench.Crossover) { x.EitherTo, x.Size = 32<<10, 700 })}, "either up to 32 KiB", nil},
		{"a size that does not fit in", []bench.Crossover{with(func(x *bench.Crossover) { x.ChunkFrom, x.Except = 256, []int{4096} })}, "chunks from 256 B, except 1 size", nil},
		{"they agree", []bench.Crossover{crossing, with(func(x *bench.Crossover) { x.InFlight, x.InlineTo, x.ChunkFrom, x.Size = 64, 4096, 8500, 8500 })},
			"chunks from 8 KiB to 8.3 KiB", []mark{{8192, "chunks from 8 KiB"}}},
		{"noise", []bench.Crossover{with(func(x *bench.Crossover) { x.EitherTo, x.Within = 32<<10, 1.4 })}, "no clear lead up to 32 KiB", nil},
		{"either, then chunks", []bench.Crossover{with(func(x *bench.Crossover) { x.EitherTo, x.ChunkFrom = 4096, 16384 })}, "chunks from 16 KiB", []mark{{16384, "chunks from 16 KiB"}}},
		{"inline, then either", []bench.Crossover{with(func(x *bench.Crossover) { x.InlineTo, x.EitherTo = 4096, 32<<10 })}, "inline up to 4 KiB", nil},
		{"nothing is sure", []bench.Crossover{with(func(x *bench.Crossover) { x.InlineTo, x.ChunkFrom, x.Size, x.Unsure = 4096, 8192, 8192, true })},
			"unsure", nil},
		{"they differ", []bench.Crossover{crossing, with(func(x *bench.Crossover) { x.InFlight, x.InlineTo = 64, 32<<10 })},
			"depends on calls and connections", []mark{{8192, "chunks from 8 KiB"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := brief(bench.Decisions(tt.in)[0]); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.marks, markOf(&tt.in[0]), cmp.AllowUnexported(mark{})); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   bench.Recommendation
		want []setting
	}{
		{"nothing", bench.Recommendation{Path: bench.IWARP}, nil},
		{"one direction is unsure", bench.Recommendation{Path: bench.IWARP, InlineSend: 4096, Unsure: []string{"replies"}}, nil},
		{"both ways", bench.Recommendation{Path: bench.IWARP, InlineSend: 62464, InlineRecv: 17408, MinChunk: 16896}, []setting{
			{"server", "rpcrdma serve --inline 61KiB"},
			{"Go, client", "rpcrdma.Config{InlineSend: 62464, InlineRecv: 17408, MinChunk: 16896}"},
			{"Go, server", "rpcrdma.Config{InlineSend: 17408, InlineRecv: 62464, MinChunk: 16896}"},
		}},
		{"one way, in one process", bench.Recommendation{Path: bench.Loopback, InlineRecv: 4096}, []setting{
			{"Go, client", "rpcrdma.Config{InlineRecv: 4096}"},
			{"Go, server", "rpcrdma.Config{InlineSend: 4096}"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, settings(&tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
