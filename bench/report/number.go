package report

import (
	"math"
	"strconv"
	"strings"
)

// none replaces a missing figure.
const none = "-"

// number writes x with three significant digits and commas between thousands, or none if x is not a
// number.
func number(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return none
	case x == 0:
		return "0"
	case x < 0:
		return "-" + number(-x)
	case x < .9995:
		return strconv.FormatFloat(x, 'f', 3, 64)
	case x < 9.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 99.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x < 999.5:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	round := math.Pow(10, math.Floor(math.Log10(x))-2)
	return thousands(strconv.FormatFloat(math.Round(x/round)*round, 'f', 0, 64))
}

// thousands puts a comma before each three digits.
func thousands(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// scaled writes x with the largest unit in which it is at least one. Each unit is a thousand times
// the one before.
func scaled(x float64, units ...string) string {
	i := 0
	for i < len(units)-1 && math.Abs(x) >= 999.5 {
		x /= 1000
		i++
	}
	return number(x) + " " + units[i]
}

// throughput writes bytes a second.
func throughput(x float64) string { return scaled(x/1e3, "kB/s", "MB/s", "GB/s") }

// microseconds converts a latency.
func microseconds[D ~int64](d D) float64 { return float64(d) / 1e3 }

// short removes zeros after the decimal point, for ticks.
func short(f func(float64) string) func(float64) string {
	return func(x float64) string {
		s, unit, _ := strings.Cut(f(x), " ")
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		if unit == "" {
			return s
		}
		return s + " " + unit
	}
}
