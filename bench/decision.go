package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Decision sums up the crossovers of one path and direction, over all numbers of calls in flight
// and connections.
type Decision struct {
	Path          Path
	Inline, Chunk Way
	Crossovers    []Crossover // by connections, then by calls in flight

	groups [][]Crossover // crossovers that say the same
}

// Decisions groups crossovers by path and direction, in the order in which these first appear.
func Decisions(crossovers []Crossover) []*Decision {
	var all []*Decision
	for _, x := range crossovers {
		i := slices.IndexFunc(all, func(d *Decision) bool { return d.Path == x.Path && d.Chunk == x.Chunk })
		if i < 0 {
			i = len(all)
			all = append(all, &Decision{Path: x.Path, Inline: x.Inline, Chunk: x.Chunk})
		}
		all[i].Crossovers = append(all[i].Crossovers, x)
	}
	for _, d := range all {
		slices.SortStableFunc(d.Crossovers, func(a, b Crossover) int {
			return cmp.Or(cmp.Compare(a.Conns, b.Conns), cmp.Compare(a.InFlight, b.InFlight))
		})
		for _, x := range d.Crossovers {
			i := slices.IndexFunc(d.groups, func(g []Crossover) bool { return g[0].agrees(&x) })
			if i < 0 {
				i, d.groups = len(d.groups), append(d.groups, nil)
			}
			d.groups[i] = append(d.groups[i], x)
		}
	}
	return all
}

// agrees reports whether x and y say the same, except for interpolated sizes.
func (x *Crossover) agrees(y *Crossover) bool {
	if x.Unsure || y.Unsure {
		return x.Unsure == y.Unsure
	}
	return x.Least == y.Least && x.Up == y.Up && x.InlineTo == y.InlineTo && x.EitherTo == y.EitherTo &&
		(x.ChunkFrom == 0) == (y.ChunkFrom == 0) && slices.Equal(x.Except, y.Except)
}

// Unsure reports whether all crossovers are unsure.
func (d *Decision) Unsure() bool {
	return !slices.ContainsFunc(d.Crossovers, func(x Crossover) bool { return !x.Unsure })
}

// Agree reports whether the crossovers for all numbers of calls in flight and connections say the
// same.
func (d *Decision) Agree() bool { return len(d.groups) == 1 }

// Direction returns the direction of the payload: "calls" or "replies".
func (d *Decision) Direction() string {
	if d.Chunk.Reply() {
		return "replies"
	}
	return "calls"
}

// Where says which way is faster at which sizes, for example "inline up to 4 KiB, chunks from 16
// KiB".
func (d *Decision) Where() string {
	if d.Agree() {
		return where(d.groups[0])
	}
	var parts []string
	for _, g := range d.groups {
		parts = append(parts, where(g)+" with "+with(g))
	}
	return "depends: " + strings.Join(parts, "; ")
}

// Gain says which way is faster at the largest size at which both were measured, and by how much.
func (d *Decision) Gain() string {
	up, low, high := 0, math.Inf(1), 0.0
	for i := range d.Crossovers {
		up = max(up, d.Crossovers[i].Up)
	}
	for i := range d.Crossovers {
		if x := &d.Crossovers[i]; x.Up == up {
			low, high = min(low, x.Gain), max(high, x.Gain)
		}
	}
	a, b := faster(low), faster(high)
	switch {
	case a == b:
	case low >= 1:
		a = fmt.Sprintf("the chunk %.2f to %.2f times as fast", low, high)
	case high <= 1:
		a = fmt.Sprintf("inline %.2f to %.2f times as fast", 1/high, 1/low)
	default:
		a += " to " + b
	}
	return "at " + FormatSize(up) + " " + a
}

// faster says which way is faster.
func faster(gain float64) string {
	switch {
	case math.Abs(gain-1) < .005:
		return "both are equally fast"
	case gain < 1:
		return fmt.Sprintf("inline %.2f times as fast", 1/gain)
	}
	return fmt.Sprintf("the chunk %.2f times as fast", gain)
}

// where is Decision.Where for crossovers that say the same.
func where(g []Crossover) string {
	x := &g[0]
	var parts []string
	switch {
	case x.Unsure:
		return "unsure"
	case x.EitherTo == 0 && x.ChunkFrom == 0:
		parts = append(parts, "inline at all sizes up to "+FormatSize(x.Up))
	case x.EitherTo == 0 && x.InlineTo == 0:
		parts = append(parts, "chunks at all sizes from "+FormatSize(x.Least))
	case x.EitherTo == 0:
		low, high := math.MaxInt, 0
		for i := range g {
			low, high = min(low, g[i].ChunkFrom), max(high, g[i].ChunkFrom)
		}
		from := "chunks from " + FormatSize(low)
		if FormatSize(low) != FormatSize(high) {
			from = fmt.Sprintf("chunks from between %s and %s", FormatSize(low), FormatSize(high))
		}
		if r := sizeRange(g); r.Low < low || r.High > high {
			from += fmt.Sprintf(" (95 %%: %s to %s)", FormatSize(r.Low), FormatSize(r.High))
		}
		parts = append(parts, from)
	default:
		if x.InlineTo > 0 {
			parts = append(parts, "inline up to "+FormatSize(x.InlineTo))
		}
		percent := noise(g)
		all := ""
		if x.InlineTo == 0 && x.ChunkFrom == 0 {
			all = "at all sizes "
		}
		say := "either will do %sup to %s (within %.0f %%)"
		if percent > muchNoise {
			say = "no clear lead %sup to %s (%.0f %% either way)"
		}
		parts = append(parts, fmt.Sprintf(say, all, FormatSize(x.EitherTo), percent))
		if x.ChunkFrom > 0 {
			parts = append(parts, "chunks from "+FormatSize(x.ChunkFrom))
		}
	}
	s := strings.Join(parts, ", ")
	if len(x.Except) > 0 {
		var sizes []string
		for _, n := range x.Except {
			sizes = append(sizes, FormatSize(n))
		}
		s += " (but not at " + strings.Join(sizes, ", ") + ")"
	}
	return s
}

// sizeRange returns the range that covers the crossings of all of g.
func sizeRange(g []Crossover) Range {
	r := g[0].SizeRange
	for _, x := range g {
		r.Low, r.High = min(r.Low, x.SizeRange.Low), max(r.High, x.SizeRange.High)
	}
	return r
}

// muchNoise is the noise in percent above which the text says "no clear lead" instead of "either
// will do".
const muchNoise = 15

// noise returns the largest lead, in percent, among sizes where neither way is clearly ahead.
func noise(g []Crossover) float64 {
	within := NoiseBand
	for i := range g {
		within = max(within, g[i].Within)
	}
	return math.Round(100 * (within - 1))
}

// Noisy reports whether the two ways are far apart at sizes where neither is clearly ahead.
func (d *Decision) Noisy() bool { return noise(d.Crossovers) > muchNoise }

// with names the calls in flight and connections of g, which is in order.
func with(g []Crossover) string {
	var names []string
	for len(g) > 0 {
		n := slices.IndexFunc(g, func(x Crossover) bool { return x.Conns != g[0].Conns })
		if n < 0 {
			n = len(g)
		}
		var calls []string
		for _, x := range g[:n-1] {
			calls = append(calls, strconv.Itoa(x.InFlight))
		}
		last := strconv.Itoa(g[n-1].InFlight)
		if len(names) == 0 {
			last = plural(g[n-1].InFlight, "call") + " in flight"
		}
		if n > 1 {
			last = strings.Join(calls, ", ") + " and " + last
		}
		names = append(names, last+" on "+plural(g[0].Conns, "connection"))
		g = g[n:]
	}
	return strings.Join(names, ", or ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
