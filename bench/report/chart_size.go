package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// direction is the direction of the payload, with the ways to send it and their names in the
// legend.
type direction struct {
	title string
	reply bool
	ways  []named
}

type named struct {
	way  bench.Way
	name string
	look look
}

var directions = []direction{
	{"Calls: client to server", false, []named{
		{bench.InlineCall, "inline", look{color: blue}},
		{bench.Padded, "inline, padded", look{color: purple}},
		{bench.ReadChunk, "chunk (read, write)", look{color: vermilion}},
		{bench.LongCall, "whole message by chunk", look{color: green}},
	}},
	{"Replies: server to client", true, []named{
		{bench.InlineReply, "inline", look{color: blue}},
		{bench.WriteChunk, "chunk (read, write)", look{color: vermilion}},
		{bench.ReplyChunk, "whole message by chunk", look{color: green}},
	}},
}

// yardstickLook is for RPC over TCP, rawLook for raw TCP and memory copy.
var (
	yardstickLook = look{color: grey}
	rawLook       = look{color: grey, dashed: true, plain: true}
)

// tcpWay returns the way over TCP in the same direction.
func (d *direction) tcpWay() bench.Way {
	if d.reply {
		return bench.InlineReply
	}
	return bench.InlineCall
}

// chunk returns the way that is compared with inline.
func (d *direction) chunk() bench.Way {
	if d.reply {
		return bench.WriteChunk
	}
	return bench.ReadChunk
}

// curveOf returns f of the points of one way, by size.
func curveOf(
	r *bench.Result, path bench.Path, way bench.Way, c combination, f func(*bench.Measurement) float64,
) []point {
	var points []point
	for i := range r.Measured {
		m := &r.Measured[i]
		if m.Path == path && m.Way == way && of(&m.Point) == c {
			points = plottable(points, float64(m.Size), f(m))
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return points
}

// plottable appends a point if logarithmic axes can show it.
func plottable(points []point, x, y float64) []point {
	if !(x > 0 && y > 0) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return points
	}
	return append(points, point{x, y})
}

// bySize shows a figure of all ways on one path by size.
func bySize(r *bench.Result, path bench.Path, name, title string, y axis, f func(*bench.Measurement) float64) chart {
	c := fullest(r, path)
	ch := chart{path: path, name: name + "-" + string(path), title: title + " over " + string(path), about: c.String()}
	for i := range directions {
		d := &directions[i]
		p := panel{title: d.title, x: sizeAxis, y: y}
		for _, w := range d.ways {
			p.lines = append(p.lines, line{w.name, w.look, curveOf(r, path, w.way, c, f)})
		}
		p.lines = append(p.lines, line{nameOf(bench.TCP), yardstickLook, curveOf(r, bench.TCP, d.tcpWay(), c, f)})
		for i := range r.Crossovers {
			if x := &r.Crossovers[i]; x.Path == path && x.Chunk == d.chunk() &&
				c == (combination{x.InFlight, x.Conns}) {
				p.marks = append(p.marks, markOf(x)...)
			}
		}
		ch.panels = append(ch.panels, p)
	}
	sameRange(&ch)
	return ch
}

// rawName names the yardstick of a path.
func rawName(path bench.Path) string {
	if path == bench.Loopback {
		return "memory copy"
	}
	return "raw TCP"
}

// throughputChart is for one path, with raw TCP beside it, or memory copy for loopback.
func throughputChart(r *bench.Result, path bench.Path) chart {
	c := bySize(r, path, "throughput", "Throughput", speedAxis, (*bench.Measurement).Throughput)
	name, figures := rawName(path), r.Yardsticks.TCP
	if path == bench.Loopback {
		figures = r.Yardsticks.Copy
	}
	var raw []point
	for _, f := range figures {
		raw = plottable(raw, float64(f.Size), f.Throughput)
	}
	for i := range c.panels {
		c.panels[i].lines = append(c.panels[i].lines, line{name, rawLook, raw})
	}
	sameRange(&c)
	return c
}

func latencyChart(r *bench.Result, path bench.Path) chart {
	return bySize(r, path, "latency", "Median latency of a call", latencyAxis,
		func(m *bench.Measurement) float64 { return float64(m.Latency.P50) })
}

func cpuChart(r *bench.Result, path bench.Path) chart {
	c := bySize(r, path, "cpu", "CPU time of both ends for a GB of payload", cpuAxis,
		func(m *bench.Measurement) float64 {
			s := perGB(m, &m.Client)
			if u := server(m); u != nil {
				s += perGB(m, u)
			}
			return s
		})
	for i := range c.panels {
		c.panels[i].marks = nil // marks apply to throughput only
	}
	sameRange(&c)
	return c
}
