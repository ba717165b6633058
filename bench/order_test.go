package bench

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRanks: which points of the full grid come first.
func TestRanks(t *testing.T) {
	points := FullGrid().Points
	const kib, mib = 1 << 10, 1 << 20
	wantSizes := map[int]int{
		256: 0, 32 * kib: 0, 4 * mib: 0,
		4 * kib: 1, 256 * kib: 1, 1 * kib: 2, 8 * kib: 2, 64 * kib: 2, 1 * mib: 2, 16 * kib: 3,
	}
	if diff := cmp.Diff(wantSizes, sizeRanks(points)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	got := countRanks(points, func(p Point) int { return p.InFlight })
	if diff := cmp.Diff(map[int]int{1: 0, 64: 1, 8: 2}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := countRanks(nil, func(p Point) int { return p.InFlight }); len(got) != 0 {
		t.Errorf("of no points: got %v", got)
	}
}

// TestOrder: the order has each point once. Its first sixth has all paths with all their ways, each
// with its smallest and largest size, and few and many calls and connections.
func TestOrder(t *testing.T) {
	points := FullGrid().Points
	order := inOrder(points)
	once := slices.Compact(slices.Sorted(slices.Values(order)))
	if len(once) != len(points) || len(order) != len(points) || once[0] != 0 || once[len(once)-1] != len(points)-1 {
		t.Fatalf("got %d points, %d of them different, want each of %d", len(order), len(once), len(points))
	}
	type line struct {
		path Path
		way  Way
	}
	sizes, calls, conns := make(map[line][]int), make(map[line][]int), make(map[line][]int)
	for _, i := range order[:len(order)/6] {
		p := points[i]
		l := line{p.Path, p.Way}
		sizes[l], calls[l], conns[l] = append(sizes[l], p.Size), append(calls[l], p.InFlight), append(conns[l], p.Conns)
	}
	done := make(map[line]bool)
	for _, p := range points {
		l := line{p.Path, p.Way}
		if done[l] {
			continue
		}
		done[l] = true
		if len(sizes[l]) == 0 {
			t.Fatalf("no %s over %s", p.Way, p.Path)
		}
		small, large := 256, 4<<20
		switch {
		case p.Path != TCP && p.Way.Inline():
			large = 32 << 10
		case p.Way == LongCall, p.Way == ReplyChunk: // not below an inline size
			small = 1 << 10
		}
		if slices.Min(sizes[l]) != small || slices.Max(sizes[l]) != large {
			t.Errorf("%s over %s: got sizes %v, want %d and %d", p.Way, p.Path, sizes[l], small, large)
		}
		if slices.Min(calls[l]) != 1 || slices.Max(calls[l]) != 64 || slices.Min(conns[l]) != 1 || slices.Max(conns[l]) != 64 {
			t.Errorf("%s over %s: got %v calls and %v connections, want from 1 to 64", p.Way, p.Path, calls[l], conns[l])
		}
	}
}
