package bench

import (
	"maps"
	"math"
	"slices"
)

// lead is by how much the chunk is ahead of inline at a size: the logarithm of the ratio of their
// throughputs.
type lead struct {
	size int // in bytes
	by   float64
}

// curve is the lead of the chunk, by ascending size.
type curve []lead

// most is what a single size can count for when a crossing is chosen.
var most = math.Log(1.5)

// split returns how many of the sizes are better sent inline, if that is one way for all up to some
// size, and the other way for all above. Towards the chunk counts that inline must be faster by
// more than bias.
//
// With k sizes inline, what is lost is the chunk's lead at those where it is ahead, and inline's at
// the others where that is ahead. From k to k+1 the loss changes by the lead at that size; so the
// least loss is where the sum of the first k leads is least. Of several, the last: what is equal
// before is inline's.
func (c curve) split(bias float64) int {
	return together([]curve{c}, bias).least()
}

// counted is what the lead counts for.
func (l lead) counted(bias float64) float64 { return min(max(l.by+bias, -most), most) }

// together returns the curve whose split is the one with the least loss for all of the curves, with
// its bias.
func together(curves []curve, bias float64) curve {
	bySize := make(map[int]float64)
	for _, c := range curves {
		for _, l := range c {
			bySize[l.size] += l.counted(bias)
		}
	}
	var sum curve
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		sum = append(sum, lead{size, bySize[size]})
	}
	return sum
}

// least returns how many of the sizes come before the least sum of what is before, which is not cut
// off here; of several, the last.
func (c curve) least() int {
	sum, least, at := 0.0, 0.0, 0
	for i, l := range c {
		if sum += l.by; sum <= least {
			least, at = sum, i+1
		}
	}
	return at
}

// cross returns the size at which the chunk overtakes inline, between the last of the first k sizes
// and the next one.
func (c curve) cross(k int) int {
	a, b := c[k-1], c[k]
	from, to := math.Log(float64(a.size)), math.Log(float64(b.size))
	// The sum that split looks at has its least value between them, so the lead rises through 0
	// here.
	along := -a.by / (b.by - a.by)
	return int(math.Round(math.Exp(from + (to-from)*along)))
}
