package rounds

import "time"

// Fitting returns how many operations take about d, given that n took the time took. The result is
// a multiple of unit, and at least unit.
func Fitting(d time.Duration, n int, took time.Duration, unit int) int {
	fit := float64(n) * float64(d) / float64(max(took, 1))
	return max(unit, int(fit)/unit*unit)
}

const (
	// calibrations is the most runs of Calibrate. If the speed is unsteady, they do not converge.
	calibrations = 12
	// growth is how many times more operations the next run has, at most.
	growth = 16
)

// Calibrate finds how many operations, a multiple of unit, take about d. Its runs also warm up what
// is measured: a connection gets faster in the beginning.
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
		if n == unit && took > d && i > 0 { // warmed up, and unit is the least
			break
		}
		n = Fitting(min(d, growth*max(took, 1)), n, took, unit)
	}
	return n, nil
}
