package report

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// lookOf returns the look of a path in charts that compare paths.
func lookOf(p bench.Path) look {
	return map[bench.Path]look{
		bench.Loopback: {color: green}, bench.IWARP: {color: blue}, bench.IWARPCRC: {color: vermilion},
		bench.IWARPMarkers: {color: purple}, bench.RoCE: {color: orange}, bench.TCP: {color: grey},
	}[p]
}

// nameOf returns the name of a path in charts that compare paths.
func nameOf(p bench.Path) string {
	if p == bench.TCP {
		return "RPC over TCP"
	}
	return string(p)
}

// pathsChart compares the paths, each with its fastest way at each size.
func pathsChart(r *bench.Result) chart {
	all := paths(r)
	if len(all) < 2 {
		return chart{}
	}
	c := fullest(r, all[0])
	ch := chart{name: "paths", title: "Throughput of each path",
		about: c.String() + "; at each size with the fastest way"}
	for i := range directions {
		d := &directions[i]
		p := panel{title: d.title, x: sizeAxis, y: speedAxis}
		for _, path := range all {
			p.lines = append(p.lines, line{nameOf(path), lookOf(path), fastest(r, path, d, c)})
		}
		ch.panels = append(ch.panels, p)
	}
	sameRange(&ch)
	return ch
}

// fastest returns the highest throughput of all ways on a path.
func fastest(r *bench.Result, path bench.Path, d *direction, c combination) []point {
	var best []point
	for _, w := range d.ways {
		for _, p := range curveOf(r, path, w.way, c, (*bench.Measurement).Throughput) {
			i := 0
			for i < len(best) && best[i].x < p.x {
				i++
			}
			if i == len(best) || best[i].x != p.x {
				best = append(best[:i], append([]point{p}, best[i:]...)...)
			}
			best[i].y = math.Max(best[i].y, p.y)
		}
	}
	return best
}
