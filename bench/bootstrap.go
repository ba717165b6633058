package bench

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

const (
	// draws is how often it is concluded anew, from rounds drawn.
	draws = 500
	// outside is the share of what came of it that lies below an interval, and as much above.
	outside = .025
	// leastRounds is how many undisturbed rounds a point must have: of one or two nobody knows how
	// they vary.
	leastRounds = 3
)

// speeds are how fast the rounds at a size were, as logarithms.
type speeds struct {
	size          int
	inline, chunk []float64
	few           bool // too few were not disturbed
}

func speedsOf(inline, chunk *Measurement, c correction) speeds {
	s := speeds{size: inline.Size, inline: c.speeds(inline), chunk: c.speeds(chunk)}
	s.few = inline.Disturbed || chunk.Disturbed || min(len(s.inline), len(s.chunk)) < leastRounds
	return s
}

// lead is that of the chunk.
func (s *speeds) lead() lead { return lead{s.size, spread.Median(s.chunk) - spread.Median(s.inline)} }

// tell reports whether there are enough rounds at all sizes to know how they vary.
func (d *duel) tell() bool {
	return !slices.ContainsFunc(d.rounds, func(s speeds) bool { return s.few })
}

// sampler draws rounds. What it draws is the same each time, and so is what is said of a result.
//
// Rounds of all points that were measured at about the same time are drawn together: what the
// machine did to all of them then is in all of them, or in none.
type sampler struct {
	random *rand.Rand
	times  []float64 // drawn, from 0 for the first round of each point to 1 behind the last
	drawn  []float64
}

func newSampler() *sampler { return &sampler{random: rand.New(rand.NewPCG(8166, 5040))} }

// draw draws anew.
func (s *sampler) draw() { s.times = s.times[:0] }

// curve is that of d, of rounds drawn.
func (s *sampler) curve(d *duel) curve {
	c := make(curve, len(d.rounds))
	for i := range d.rounds {
		r := &d.rounds[i]
		c[i] = lead{r.size, s.median(r.chunk) - s.median(r.inline)}
	}
	return c
}

// median is that of as many values as there are, drawn from them.
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

// intervalOf returns that of what came of all draws.
func intervalOf(values []int) Range {
	slices.Sort(values)
	at := int(outside * float64(len(values)))
	return Range{values[at], values[len(values)-1-at]}
}

// steps is how far apart the ends of a range are, in steps from one of the sizes to the next; what
// is outside them counts as the smallest or the largest.
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

// oneStep reports whether a range leaves no more open than one step between sizes, and what room
// for headers and whole KiB add to it.
func (r Range) oneStep(sizes []int) bool { return r.steps(sizes) <= 1.1 }

// sizes are those of c.
func (c curve) sizes() (all []int) {
	for _, l := range c {
		all = append(all, l.size)
	}
	return all
}

// doubt says within which sizes the crossing of x lies, and whether the rest of what x says is
// sure.
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
