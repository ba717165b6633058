package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// maxTicks is the most ticks on a long axis.
const maxTicks = 9

// ticks returns the ticks of a logarithmic axis: at powers of its base, fewer if there are too
// many, and more between them if there is room.
func (a axis) ticks(from, to float64, most int) []plot.Tick {
	if !(from > 0 && to >= from && to/from < 1e30) {
		return nil
	}
	const rounding = 1e-9
	log := func(x float64) float64 { return math.Log(x) / math.Log(a.base) }
	first, last := int(math.Floor(log(from)+rounding)), int(math.Ceil(log(to)-rounding))
	try := func(step int, factors []float64) (ticks []plot.Tick) {
		for i := first; i <= last; i += step {
			for _, f := range factors {
				x := f * math.Pow(a.base, float64(i))
				if x >= from*(1-rounding) && x <= to*(1+rounding) {
					ticks = append(ticks, plot.Tick{Value: x, Label: a.text(x)})
				}
			}
		}
		return ticks
	}
	if ticks := try(1, append([]float64{1}, a.between...)); len(ticks) <= most {
		return ticks
	}
	for step := 1; ; step++ {
		if ticks := try(step, []float64{1}); len(ticks) <= most {
			return ticks
		}
	}
}

// around returns the range to show so that it includes from and to, with some room.
func (a axis) around(from, to float64) (low, high float64) {
	low, high = from/math.Pow(a.base, .1), to*math.Pow(a.base, .1)
	if to/from < math.Sqrt(a.base) {
		low, high = low/math.Sqrt(a.base), high*math.Sqrt(a.base)
	}
	return low, high
}

// ticker makes the ticks of an axis.
type ticker struct {
	axis
	most int
}

func (t ticker) Ticks(from, to float64) []plot.Tick { return t.ticks(from, to, t.most) }

// The axes.
var (
	sizeAxis    = axis{"payload", func(x float64) string { return bench.FormatSize(int(math.Round(x))) }, 4, nil}
	countAxis   = axis{"", func(x float64) string { return strconv.Itoa(int(math.Round(x))) }, 2, nil}
	speedAxis   = axis{"", short(throughput), 10, []float64{2, 5}}
	rateAxis    = axis{"", short(func(x float64) string { return scaled(x, "", "k", "M") }), 10, []float64{2, 5}}
	latencyAxis = axis{
		"", short(func(x float64) string { return scaled(x, "ns", "µs", "ms", "s") }), 10, []float64{2, 5},
	}
	cpuAxis = axis{
		"", short(func(x float64) string { return scaled(x*1e6, "µs", "ms", "s") }), 10, []float64{2, 5},
	}
	leadAxis = axis{
		"", func(x float64) string { return "× " + strconv.FormatFloat(x, 'g', 2, 64) }, 2, []float64{1.5},
	}
)
