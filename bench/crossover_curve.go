package bench

import (
	"maps"
	"math"
	"slices"
)

// lead is how far the chunk is ahead of inline at a size: the logarithm of the ratio of their
// throughputs.
type lead struct {
	size int // in bytes
	by   float64
}

// curve is the lead of the chunk by ascending size.
type curve []lead

// most limits what a single size counts for when a crossing is chosen.
var most = math.Log(1.5)

// split returns how many of the sizes to send inline, if all sizes up to some go inline and all
// above by chunk. The chunk is used from where inline is no longer faster by more than bias.
//
// With k sizes inline, the loss is the chunk's lead at those where the chunk is ahead, and inline's
// lead at the others where inline is ahead. From k to k+1 the loss changes by the lead at that
// size. So the loss is least where the sum of the first k leads is least. Of several such k it
// returns the last, so that ties go to inline.
func (c curve) split(bias float64) int {
	return together([]curve{c}, bias).least()
}

// counted returns what the lead counts for, biased and limited.
func (l lead) counted(bias float64) float64 { return min(max(l.by+bias, -most), most) }

// together returns the sum of the curves, with the bias. Its split loses the least over all of
// them.
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

// least returns how many leads to add up for the least sum; of several, the last.
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
