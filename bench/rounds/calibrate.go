package rounds

import "time"

// Fitting returns how many operations take about d, of which n have taken some time: a multiple of
// unit, and no less than that.
func Fitting(d time.Duration, n int, took time.Duration, unit int) int {
	fit := float64(n) * float64(d) / float64(max(took, 1))
	return max(unit, int(fit)/unit*unit)
}

const (
	// calibrations is how many runs Calibrate takes at the most. Where the speed is unsteady they
	// do not converge.
	calibrations = 12
	// growth is how many times as many operations the next of them has, at the most.
	growth = 16
)

// Calibrate finds how many operations, a multiple of unit, take about d. What it runs to find out
// also warms up what it measures: a connection gets faster in the beginning.
func Calibrate(unit int, d time.Duration, run func(n int) (time.Duration, error)) (n int, err error) {
	n = unit
	for i := range calibrations {
		took, err := run(n)
		if err != nil {
			return 0, err
		}
		if factor := float64(d) / float64(max(took, 1)); 0.8 < factor && factor < 1.25 {
			break
		}
		if n == unit && took > d && i > 0 { // warmed up, and it cannot be fewer
			break
		}
		n = Fitting(min(d, growth*max(took, 1)), n, took, unit)
	}
	return n, nil
}
