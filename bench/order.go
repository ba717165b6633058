package bench

import (
	"cmp"
	"slices"
)

// inOrder returns the indices of points in the order in which they are measured: if time runs out, those that have been measured still cover the grid. All paths and ways
// come first with the ends of sizes, calls and connections, and then with what is between.
func inOrder(points []Point) []int {
	size := ranks(points, func(p Point) int { return p.Size })
	inFlight := ranks(points, func(p Point) int { return p.InFlight })
	conns := ranks(points, func(p Point) int { return p.Conns })
	rank := func(p Point) int { return size[p.Size] + inFlight[p.InFlight] + conns[p.Conns] }

	type line struct {
		path Path
		way  Way
	}
	type key struct{ index, rank, turn int }
	keys := make([]key, len(points))
	seen := make(map[line]map[int]int) // by rank, how many points of a line there were
	for i, p := range points {
		l, r := line{p.Path, p.Way}, rank(p)
		if seen[l] == nil {
			seen[l] = make(map[int]int)
		}
		keys[i] = key{i, r, seen[l][r]}
		seen[l][r]++
	}
	slices.SortStableFunc(keys, func(a, b key) int { // lines take turns
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.turn, b.turn))
	})
	order := make([]int, len(keys))
	for i, k := range keys {
		order[i] = k.index
	}
	return order
}

// ranks gives each value that points have a rank: 0 to the smallest and the largest, 1 to the one in the middle, 2 to those in the
// middle between these, and so on.
func ranks(points []Point, of func(Point) int) map[int]int {
	var values []int
	for _, p := range points {
		values = append(values, of(p))
	}
	slices.Sort(values)
	values = slices.Compact(values)
	all := make(map[int]int)
	var split func(low, high, rank int)
	split = func(low, high, rank int) {
		if high-low < 2 {
			return
		}
		middle := (low + high) / 2
		all[values[middle]] = rank
		split(low, middle, rank+1)
		split(middle, high, rank+1)
	}
	if last := len(values) - 1; last >= 0 {
		all[values[0]], all[values[last]] = 0, 0
		split(0, last, 1)
	}
	return all
}
