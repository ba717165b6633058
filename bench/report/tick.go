package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// maxTicks is how many ticks with a text an axis may have.
const maxTicks = 8

// ticks returns those of a logarithmic axis: at powers of its base, not at all of them if there are many, and between
// them if there are few.
func (a axis) ticks(from, to float64) []plot.Tick {
	if from <= 0 || to < from {
		return nil
	}
	first, last := int(math.Floor(math.Log(from)/math.Log(a.base)+1e-9)), int(math.Ceil(math.Log(to)/math.Log(a.base)-1e-9))
	between := []float64{1}
	if a.base == 10 && last-first <= 2 {
		between = []float64{1, 2, 5}
	}
	step := 1
	for (last-first)/step >= maxTicks {
		step++
	}
	var ticks []plot.Tick
	for i := first; i <= last; i++ {
		for _, f := range between {
			t := plot.Tick{Value: f * math.Pow(a.base, float64(i))}
			if (i-first)%step == 0 {
				t.Label = a.text(t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// within are the ticks from the last one at or below from, to the first one at or above to: the range to show.
func (a axis) within(from, to float64) (low, high float64) {
	low, high = from, to
	ticks := a.ticks(from, to)
	for _, t := range ticks {
		if t.Value <= from*(1+1e-9) {
			low = t.Value
		}
	}
	for i := len(ticks) - 1; i >= 0; i-- {
		if ticks[i].Value >= to*(1-1e-9) {
			high = ticks[i].Value
		}
	}
	if low == high {
		low, high = low/a.base, high*a.base
	}
	return low, high
}

// ticker makes ticks of an axis.
type ticker struct{ axis }

func (t ticker) Ticks(from, to float64) []plot.Tick { return t.ticks(from, to) }

// The axes.
var (
	sizeAxis    = axis{"payload", func(x float64) string { return bench.FormatSize(int(math.Round(x))) }, 4}
	countAxis   = axis{"", func(x float64) string { return strconv.Itoa(int(math.Round(x))) }, 2}
	speedAxis   = axis{"throughput", short(throughput), 10}
	rateAxis    = axis{"calls a second", short(func(x float64) string { return scaled(x, "", "k", "M") }), 10}
	latencyAxis = axis{"latency, p50", short(func(x float64) string { return scaled(x, "ns", "µs", "ms", "s") }), 10}
	cpuAxis     = axis{"CPU time for a GB, both ends", short(func(x float64) string { return scaled(x*1e6, "µs", "ms", "s") }), 10}
	leadAxis    = axis{"throughput, chunk to inline", func(x float64) string { return "× " + strconv.FormatFloat(x, 'g', 3, 64) }, 2}
)
