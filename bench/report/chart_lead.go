package report

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// leadChart shows how many times faster the chunk is than inline on one path, for each number of
// calls and connections.
func leadChart(r *bench.Result, path bench.Path) chart {
	all := combinations(r, path)
	ch := chart{path: path, name: "crossover-" + string(path),
		title: "Throughput by chunk, relative to inline, over " + string(path)}
	ch.about = fmt.Sprintf("the chunk is faster where a line is above × 1; corrected by %s right before; "+
		"within × %.1f is noise",
		rawName(path), bench.NoiseBand)
	if n := len(light.palette); len(all) > n {
		all, ch.about = all[:n], ch.about+fmt.Sprintf("; the first %d numbers of calls and connections", n)
	}
	for i := range directions {
		d := &directions[i]
		p := panel{title: d.title, x: sizeAxis, y: leadAxis, level: 1}
		for j, c := range all {
			p.lines = append(p.lines, line{c.String(), look{color: j}, lead(r, path, d, c)})
		}
		for _, x := range bench.Decisions(r.Crossovers) {
			if x.Path == path && x.Chunk == d.chunk() {
				direction, _, _ := strings.Cut(d.title, ":")
				p.title = direction + ": " + brief(x)
				if len(x.Crossovers) == 1 {
					p.marks = markOf(&x.Crossovers[0])
				}
			}
		}
		ch.panels = append(ch.panels, p)
	}
	sameRange(&ch)
	return ch
}

// lead returns the lead by size.
func lead(r *bench.Result, path bench.Path, d *direction, c combination) (points []point) {
	for _, x := range r.Crossovers {
		if x.Path != path || x.Chunk != d.chunk() || c != (combination{x.InFlight, x.Conns}) {
			continue
		}
		for _, l := range x.Leads {
			points = plottable(points, float64(l.Size), l.Faster)
		}
	}
	return points
}
