package sctp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBlocks compares the Gap Ack Blocks of TSNs that are far apart with those of a list.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.SampledFrom([]uint32{1, 64, 1<<32 - 130, 1<<31 - 5, 12345}).Draw(r, "first")
		s := newTSNs(first, 64<<10)
		came := make([]bool, minAhead+1) // by how far ahead; the next in order is missing
		for range rapid.IntRange(0, 20).Draw(r, "runs") {
			from := rapid.OneOf(rapid.IntRange(2, minAhead), rapid.IntRange(minAhead-70, minAhead)).Draw(r, "from")
			for i := range min(rapid.IntRange(1, 200).Draw(r, "length"), minAhead+1-from) {
				if !came[from+i] {
					came[from+i] = true
					s.add(first - 1 + uint32(from+i))
				}
			}
		}
		var want []gapBlock
		for i := 2; i < len(came); i++ {
			switch {
			case !came[i]:
			case came[i-1]:
				want[len(want)-1].last++
			default:
				want = append(want, gapBlock{uint16(i), uint16(i)})
			}
		}
		n := rapid.IntRange(0, 25).Draw(r, "most")
		if got := s.blocks(nil, n); !slices.Equal(got, want[:min(n, len(want))]) {
			r.Fatalf("got %v of at most %d, want %v", got, n, want)
		}
	})
}
