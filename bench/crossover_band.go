package bench

import "math"

// NoiseBand is the ratio of throughputs above which one way counts as faster. A smaller lead is
// noise.
const NoiseBand = 1.1

// band is the logarithm of NoiseBand.
var band = math.Log(NoiseBand)

// weigh sets in x up to which size inline is faster by the band, and from which size the chunk is.
func (c curve) weigh(x *Crossover) {
	// the second is never less: the bias is for inline there
	inline, either := c.split(band), c.split(-band)
	if inline > 0 {
		x.InlineTo = c[inline-1].size
	}
	switch {
	case either > inline:
		x.EitherTo = c[either-1].size
		x.Within = NoiseBand
		for _, l := range c[inline:either] {
			x.Within = max(x.Within, math.Exp(math.Abs(l.by)))
		}
		if either < len(c) {
			x.ChunkFrom = c[either].size
		}
	case either == 0:
		x.ChunkFrom = x.Least
	case either < len(c):
		x.ChunkFrom = x.Size
	}
	for i, l := range c {
		if i < inline && l.by > band || i >= either && l.by < -band {
			x.Except = append(x.Except, l.size)
		}
	}
}
