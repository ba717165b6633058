package bench

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// correction says, for each path, what part of the yardstick's variation to subtract from that of a
// point: from 0 to 1. Both are logarithms.
//
// If the machine changes its speed, a point and the yardstick right before it go up and down
// together, and their ratio is steadier than either. If it does not, the yardstick's own variation
// only adds noise to the ratio. The correction is the slope of the regression line through the
// deviations of all rounds from the medians of their points. It leaves the least variance (a
// control variate).
type correction map[Path]float64

// corrections computes the slope for each path; 1 where the yardstick does not vary.
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

// speeds returns the logarithms of the corrected speeds of the rounds of m that count.
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

// counted returns the rounds that were not disturbed, or all rounds if all were disturbed.
func (m *Measurement) counted() (rounds []Round) {
	for _, r := range m.Rounds {
		if (r.Disturbed == "" || m.Disturbed) && r.Calls > 0 && r.Elapsed > 0 {
			rounds = append(rounds, r)
		}
	}
	return rounds
}
