package report

import (
	"math"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// chart is one picture: panels side by side, with one legend below.
type chart struct {
	name   string     // of its file, without extension
	path   bench.Path // empty if it shows all paths
	title  string
	about  string // applies to all that is shown
	panels []panel
}

// panel is a pair of axes with lines. Both axes are logarithmic.
type panel struct {
	title     string
	x, y      axis
	lines     []line
	marks     []mark
	level     float64 // height of a horizontal line; 0 means none
	low, high point   // the least range to show, if not 0
}

// axis says how to write the values along an axis. The values of x are integers.
type axis struct {
	label   string
	text    func(float64) string
	base    float64   // ticks are at its powers
	between []float64 // and, if there is room, at these multiples of the powers
}

// line is one series. Lines with the same name in several panels share an entry in the legend, so
// they should have the same look.
type line struct {
	name   string
	look   look
	points []point
}

type point struct{ x, y float64 }

// mark is a vertical line with a text.
type mark struct {
	x    float64
	text string
}

// look is how a line is drawn.
type look struct {
	color  int // index in the palette
	dashed bool
	plain  bool // no mark at each point
}

// trim drops panels without a line of our measurements, and reports whether a line is left. A
// single point is not a line; the table has it.
func (c *chart) trim() bool {
	ours := func(p panel, points int) bool {
		return slices.ContainsFunc(p.lines, func(l line) bool {
			return len(l.points) >= points && !l.look.plain && l.name != nameOf(bench.TCP)
		})
	}
	c.panels = slices.DeleteFunc(c.panels, func(p panel) bool { return !ours(p, 1) })
	return slices.ContainsFunc(c.panels, func(p panel) bool { return ours(p, 2) })
}

// sameRange gives all panels of a chart the same range of x and y, which must have the same meaning
// in all of them.
func sameRange(c *chart) {
	inf := math.Inf(1)
	low, high := point{inf, inf}, point{-inf, -inf}
	for _, p := range c.panels {
		for _, l := range p.lines {
			for _, xy := range l.points {
				low.x, low.y = min(low.x, xy.x), min(low.y, xy.y)
				high.x, high.y = max(high.x, xy.x), max(high.y, xy.y)
			}
		}
	}
	if slices.ContainsFunc(c.panels, func(p panel) bool { return len(p.marks) > 0 }) {
		high.y *= math.Pow(high.y/low.y, .1) // room for the texts of marks
	}
	for i := range c.panels {
		c.panels[i].low, c.panels[i].high = low, high
	}
}

// charts returns all charts of r: first those of the recommended path, then those that compare
// paths, then those of the other paths.
func charts(r *bench.Result) []chart {
	var all []chart
	add := func(c chart) {
		if c.trim() {
			all = append(all, c)
		}
	}
	for i, path := range paths(r) {
		if path == bench.TCP {
			continue
		}
		add(throughputChart(r, path))
		add(leadChart(r, path))
		add(latencyChart(r, path))
		if i == 0 {
			add(pathsChart(r))
			for i := range scalings {
				add(scalings[i].chart(r))
			}
		}
		add(cpuChart(r, path))
	}
	return all
}
