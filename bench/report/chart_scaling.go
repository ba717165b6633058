package report

import (
	"cmp"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// scaling is what grows along x: calls in flight, or connections.
type scaling struct {
	name, title, label string
	grown, other       func(*bench.Point) int // what is along x, and what stays the same
	fixed              string                 // name of the latter
}

var scalings = []scaling{
	{"calls", "Scaling with calls in flight", "calls in flight",
		func(p *bench.Point) int { return p.InFlight }, func(p *bench.Point) int { return p.Conns }, "connection"},
	{"connections", "Scaling with connections", "connections",
		func(p *bench.Point) int { return p.Conns }, func(p *bench.Point) int { return p.InFlight }, "call"},
}

// large is the size in bytes from which payload matters more than the number of calls.
const large = 64 << 10

// series is what one panel shows: payload of one size and way, on all paths.
type series struct {
	way, tcp bench.Way
	size     int
	other    int
}

// chart shows a small payload, for calls a second, and a large one, for bytes a second.
func (s *scaling) chart(r *bench.Result) chart {
	ch := chart{name: "scaling-" + s.name, title: s.title}
	x := countAxis
	x.label = s.label
	for _, side := range []struct {
		what    string
		y       axis
		large   bool
		choices []series
		f       func(*bench.Measurement) float64
	}{
		{
			"Calls a second: ", rateAxis, false,
			[]series{
				{way: bench.InlineReply, tcp: bench.InlineReply},
				{way: bench.InlineCall, tcp: bench.InlineCall},
			},
			(*bench.Measurement).Rate,
		},
		{
			"Throughput: ", speedAxis, true,
			[]series{
				{way: bench.WriteChunk, tcp: bench.InlineReply},
				{way: bench.ReadChunk, tcp: bench.InlineCall},
			},
			(*bench.Measurement).Throughput,
		},
	} {
		best, ok := s.best(r, side.choices, side.large)
		if !ok {
			continue
		}
		p := panel{
			title: side.what + bench.FormatSize(best.size) + " by " + string(best.way) + ", " + s.each(best.other),
			x:     x, y: side.y,
		}
		for _, path := range paths(r) {
			if points := s.curve(r, path, best, side.f); len(points) > 1 {
				p.lines = append(p.lines, line{nameOf(path), lookOf(path), points})
			}
		}
		ch.panels = append(ch.panels, p)
	}
	return ch
}

// each names what stays the same.
func (s *scaling) each(n int) string {
	if s.fixed == "call" {
		return count(n, "call") + " in flight on each"
	}
	return count(n, s.fixed)
}

// best returns the choice with the most points. Of several it returns that with the smallest size,
// or the largest if big is set, and then the smallest other number.
func (s *scaling) best(r *bench.Result, choices []series, big bool) (best series, ok bool) {
	type reach struct {
		series
		points int
	}
	var all []reach
	for _, c := range choices {
		along := make(map[[2]int]map[int]int) // by size and other, along x: points
		for i := range r.Measured {
			m := &r.Measured[i]
			if m.Way == c.way && m.Path != bench.TCP && (m.Size >= large) == big {
				k := [2]int{m.Size, s.other(&m.Point)}
				if along[k] == nil {
					along[k] = make(map[int]int)
				}
				along[k][s.grown(&m.Point)]++
			}
		}
		for k, x := range along {
			if len(x) < 2 {
				continue
			}
			points := 0
			for _, n := range x {
				points += n
			}
			all = append(all, reach{series{c.way, c.tcp, k[0], k[1]}, points})
		}
	}
	if len(all) == 0 {
		return best, false
	}
	slices.SortFunc(all, func(a, b reach) int {
		size := cmp.Compare(a.size, b.size)
		if big {
			size = -size
		}
		return cmp.Or(cmp.Compare(b.points, a.points), size, cmp.Compare(a.other, b.other), cmp.Compare(a.way, b.way))
	})
	return all[0].series, true
}

func (s *scaling) curve(r *bench.Result, path bench.Path, of series, f func(*bench.Measurement) float64) []point {
	way := of.way
	if path == bench.TCP {
		way = of.tcp
	}
	var points []point
	for i := range r.Measured {
		m := &r.Measured[i]
		if m.Path == path && m.Way == way && m.Size == of.size && s.other(&m.Point) == of.other {
			points = plottable(points, float64(s.grown(&m.Point)), f(m))
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return points
}
