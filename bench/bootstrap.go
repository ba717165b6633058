package bench

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

const (
	// draws is the number of bootstrap samples.
	draws = 500
	// outside is the share of results below an interval, and the share above.
	outside = .025
	// leastRounds is how many undisturbed rounds a point must have: one or two do not show how they
	// vary.
	leastRounds = 3
)

// speeds has the speeds of the rounds at one size, as logarithms.
type speeds struct {
	size          int
	inline, chunk []float64
	few           bool // too few rounds were undisturbed
}

func speedsOf(inline, chunk *Measurement, c correction) speeds {
	s := speeds{size: inline.Size, inline: c.speeds(inline), chunk: c.speeds(chunk)}
	s.few = inline.Disturbed || chunk.Disturbed || min(len(s.inline), len(s.chunk)) < leastRounds
	return s
}

// lead returns the chunk's lead.
func (s *speeds) lead() lead { return lead{s.size, spread.Median(s.chunk) - spread.Median(s.inline)} }

// tell reports whether there are enough rounds at all sizes to know how they vary.
func (d *duel) tell() bool {
	return !slices.ContainsFunc(d.rounds, func(s speeds) bool { return s.few })
}

// sampler draws rounds with replacement. It draws the same each time, so conclusions are
// repeatable.
//
// It draws rounds of all points that were measured at about the same time together. So an influence
// on all of them at that time is in all of them, or in none.
type sampler struct {
	random *rand.Rand
	times  []float64 // drawn, from 0 for the first round of each point to 1 after the last
	drawn  []float64
}

func newSampler() *sampler { return &sampler{random: rand.New(rand.NewPCG(8166, 5040))} }

// draw begins a new sample.
func (s *sampler) draw() { s.times = s.times[:0] }

// curve returns the curve of d from the rounds drawn.
func (s *sampler) curve(d *duel) curve {
	c := make(curve, len(d.rounds))
	for i := range d.rounds {
		r := &d.rounds[i]
		c[i] = lead{r.size, s.median(r.chunk) - s.median(r.inline)}
	}
	return c
}

// median returns the median of len(values) values drawn from values.
func (s *sampler) median(values []float64) float64 {
	n := len(values)
	for len(s.times) < n {
		s.times = append(s.times, s.random.Float64())
	}
	s.drawn = s.drawn[:0]
	for _, t := range s.times[:n] {
		s.drawn = append(s.drawn, values[int(t*float64(n))])
	}
	slices.Sort(s.drawn)
	return (s.drawn[(n-1)/2] + s.drawn[n/2]) / 2
}

// intervalOf returns the 95 % interval of values.
func intervalOf(values []int) Range {
	slices.Sort(values)
	at := int(outside * float64(len(values)))
	return Range{values[at], values[len(values)-1-at]}
}

// steps returns the width of r in steps between adjacent sizes. Bounds outside the sizes count as
// the smallest or the largest.
func (r Range) steps(sizes []int) float64 {
	place := func(n int) float64 {
		i, ok := slices.BinarySearch(sizes, n)
		switch {
		case ok || i == 0:
			return float64(i)
		case i == len(sizes):
			return float64(i - 1)
		}
		low, high := math.Log(float64(sizes[i-1])), math.Log(float64(sizes[i]))
		return float64(i-1) + (math.Log(float64(n))-low)/(high-low)
	}
	return place(r.High) - place(r.Low)
}

// oneStep reports whether r is at most one step wide. It allows for what the room for headers and
// rounding to whole KiB add.
func (r Range) oneStep(sizes []int) bool { return r.steps(sizes) <= 1.1 }

// sizes returns the sizes of c.
func (c curve) sizes() (all []int) {
	for _, l := range c {
		all = append(all, l.size)
	}
	return all
}

// doubt sets the range of the crossing in x, and whether x is unsure.
func (d *duel) doubt(x *Crossover) {
	if !d.tell() {
		x.Unsure = true
		return
	}
	s := newSampler()
	var crossings, inline, either []int // the last two are numbers of sizes
	for range draws {
		s.draw()
		c := s.curve(d)
		again := d.crossover(c)
		switch {
		case again.Size > 0:
		case again.Always:
			again.Size = again.Least
		default:
			again.Size = again.Up
		}
		crossings = append(crossings, again.Size)
		inline, either = append(inline, c.split(band)), append(either, c.split(-band))
	}
	x.SizeRange = intervalOf(crossings)
	for _, of := range [][]int{inline, either} {
		if r := intervalOf(of); r.High-r.Low > 1 {
			x.Unsure = true
		}
	}
}
