// Package spread summarises figures that vary: their median and quartiles, and an interval for the
// median of the population that they sample.
package spread

import (
	"math"
	"slices"
)

// Spread is a median with its quartiles.
type Spread struct {
	Q1, Median, Q3 float64
}

// Of returns the spread of values, in any order; NaN if there are none.
func Of(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{
		Q1:     quantile(sorted, 0.25),
		Median: quantile(sorted, 0.5),
		Q3:     quantile(sorted, 0.75),
	}
}

// Median returns the median of values, in any order; NaN if there are none.
func Median(values []float64) float64 { return Of(values).Median }

// Interval returns an interval that contains the median of the population with at least 95 %
// certainty, if values are a sample of it. It uses ranks: a value is below the median with the
// probability of a coin toss. It returns NaN if there are no values.
func Interval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	half, width := float64(n)/2, 0.98*math.Sqrt(float64(n)) // 1.96 standard deviations of n tosses
	below := max(0, int(math.Floor(half-width))-1)
	return sorted[below], sorted[n-1-below]
}

// quantile interpolates between the two nearest values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
