package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCorrections: variation that a point shares with its yardstick is removed. Variation of the
// yardstick alone is not.
func TestCorrections(t *testing.T) {
	for _, tt := range []struct {
		name               string
		common, point, raw float64 // standard deviations: shared, and of each alone
		low, high          float64
	}{
		{"the machine changes its speed", .3, .02, .02, .9, 1},
		{"the yardstick varies", 0, .02, .3, 0, .1},
		{"both as much", .2, .02, .2, .3, .7},
		{"the point varies", 0, .3, 0, 1, 1}, // nothing is taken off
	} {
		t.Run(tt.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var all []Measurement
			for range 20 {
				m := Measurement{Point: Point{Path: IWARP, Way: InlineCall, Size: 1024, InFlight: 1, Conns: 1}}
				for range 10 {
					common := random.NormFloat64() * tt.common
					us := 100 * math.Exp(-common+random.NormFloat64()*tt.point)
					r := of(1024, 100, us, 1e9*math.Exp(common+random.NormFloat64()*tt.raw), 0).Rounds[0]
					m.Rounds = append(m.Rounds, r)
				}
				all = append(all, m)
			}
			c := corrections(all)
			if got := c[IWARP]; got < tt.low || got > tt.high {
				t.Errorf("got a correction of %v, want %v to %v", got, tt.low, tt.high)
			}
		})
	}
}
