package bench

import (
	"cmp"
	"slices"
)

// inOrder returns the indices of points in the order of the first pass. If time runs out, the
// points measured until then still cover the grid. All paths and ways come first, with few and many
// calls and connections and the sizes that matter most. What lies between follows.
func inOrder(points []Point) []int {
	size := sizeRanks(points)
	inFlight := countRanks(points, func(p Point) int { return p.InFlight })
	conns := countRanks(points, func(p Point) int { return p.Conns })

	type line struct {
		path Path
		way  Way
		rank int
	}
	type key struct{ index, rank, turn int }
	keys := make([]key, len(points))
	seen := make(map[line]int) // how many points of a line there were
	for i, p := range points {
		l := line{p.Path, p.Way, size[p.Size] + inFlight[p.InFlight] + conns[p.Conns]}
		keys[i] = key{i, l.rank, seen[l]}
		seen[l]++
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

// sizeRanks ranks sizes. Rank 0 has the smallest, the largest, and the largest that goes inline.
// Rank 1 has the sizes in the middle between these, and so on.
func sizeRanks(points []Point) map[int]int {
	sizes := valuesOf(points, func(p Point) int { return p.Size })
	inline := 0
	for _, p := range points {
		if p.Way.Inline() && p.Path != TCP {
			inline = max(inline, p.Size)
		}
	}
	ranks := make(map[int]int)
	low := 0
	for i, n := range sizes {
		if i == 0 || n == inline || i == len(sizes)-1 {
			ranks[n] = 0
			between(sizes, low, i, 1, ranks)
			low = i
		}
	}
	return ranks
}

// countRanks ranks numbers of calls or connections: rank 0 is the smallest, rank 1 the largest,
// rank 2 the one in the middle, and so on.
func countRanks(points []Point, of func(Point) int) map[int]int {
	values := valuesOf(points, of)
	ranks := make(map[int]int)
	if last := len(values) - 1; last >= 0 {
		ranks[values[last]] = 1
		ranks[values[0]] = 0
		between(values, 0, last, 2, ranks)
	}
	return ranks
}

// between ranks the values between two, the middle one first.
func between(values []int, low, high, rank int, ranks map[int]int) {
	if high-low < 2 {
		return
	}
	middle := (low + high) / 2
	ranks[values[middle]] = rank
	between(values, low, middle, rank+1, ranks)
	between(values, middle, high, rank+1, ranks)
}

// valuesOf returns the distinct values of points, ascending.
func valuesOf(points []Point, of func(Point) int) []int {
	var values []int
	for _, p := range points {
		values = append(values, of(p))
	}
	slices.Sort(values)
	return slices.Compact(values)
}
