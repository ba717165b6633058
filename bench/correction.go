package bench

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// correction is how much of what the yardstick varies, on one path, is taken off what a point
// varies: from 0 to 1.
//
// Where the machine changes its speed, a point and the yardstick right before go up and down
// together, and their ratio is steadier than either. Where it does not, the yardstick varies by
// itself, and the ratio varies more than the point. The correction is the slope of the line through
// what the rounds of all points differ from the median of theirs: with it the variance that is left
// is the least (a control variate).
type correction map[Path]float64

// corrections finds them; 1 where nothing varies.
func corrections(measured []Measurement) correction {
	type sums struct{ both, yardstick float64 }
	of := make(map[Path]*sums)
	for i := range measured {
		m := &measured[i]
		var speeds, yardsticks []float64
		for _, r := range m.counted() {
			if r.Yardstick > 0 {
				speeds = append(speeds, math.Log(r.speed(m.Size)))
				yardsticks = append(yardsticks, math.Log(r.Yardstick))
			}
		}
		if of[m.Path] == nil {
			of[m.Path] = new(sums)
		}
		speed, yardstick := spread.Median(speeds), spread.Median(yardsticks)
		for j := range speeds {
			y := yardsticks[j] - yardstick
			of[m.Path].both += (speeds[j] - speed) * y
			of[m.Path].yardstick += y * y
		}
	}
	c := make(correction)
	for path, s := range of {
		c[path] = 1
		if s.yardstick > 0 {
			c[path] = min(max(0, s.both/s.yardstick), 1)
		}
	}
	return c
}

// speeds are how fast the rounds of m were that count, corrected, as logarithms.
func (c correction) speeds(m *Measurement) (all []float64) {
	for _, r := range m.counted() {
		s := math.Log(r.speed(m.Size))
		if r.Yardstick > 0 {
			s -= c[m.Path] * math.Log(r.Yardstick)
		}
		all = append(all, s)
	}
	return all
}

// counted are the rounds that were not disturbed; all if there are no others.
func (m *Measurement) counted() (rounds []Round) {
	for _, r := range m.Rounds {
		if (r.Disturbed == "" || m.Disturbed) && r.Calls > 0 && r.Elapsed > 0 {
			rounds = append(rounds, r)
		}
	}
	return rounds
}
