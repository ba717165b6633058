package bench

import (
	"cmp"
	"math"
	"slices"
)

// Conclude fills in the crossovers of what was measured, and the recommendation.
//
// Each pair of ways is compared at the sizes at which both were measured, by the median throughput
// of the rounds, which is corrected by the yardstick right before, as far as the two vary together:
// so it is free of how fast the machine was at the moment.
//
// # Crossovers
//
// The throughput of two ways crosses once at best, more often where there is noise. Conclude takes
// the crossing at which to switch from inline to chunks so that the least throughput is lost at the
// sizes measured, as a sum of logarithms. That is the one after which the chunk stays ahead, unless
// it falls behind later by less than it gained before. No single size counts for more than a factor
// of 1.5, so that one that the machine has spoiled does not decide. Between the two sizes around
// the crossing, both throughputs are taken for straight lines with both axes logarithmic. Where
// there is only one size in common, there is no crossover.
//
// One point differs from itself measured anew by some percent, so a lead of less than Band tells
// nothing. The same switch is therefore sought twice more, once with inline and once with the chunk
// behind by Band: up to the first inline is faster, from the second on the chunk is, and between
// them either will do.
//
// # Recommendation
//
// It is for the path over a wire with the most data, or for Loopback if there is no other. Inline
// is recommended up to where it is no longer faster by the band. Where that depends on calls in
// flight and connections, it is such that the least is lost over all of them. It is never below the
// default: a large message in a Send has its price, because receives of that size are posted for
// all credits of a connection. Where fewer than two sizes tell, nothing is recommended, and Why
// says so.
//
// # Certainty
//
// All this comes from rounds, and others would have been different. How different is found out by
// drawing: Conclude takes as many of each point's undisturbed rounds as there are, any of them any
// number of times, concludes from these, and does so again and again (the bootstrap, by
// percentiles). Crossings and inline sizes lie within what came of it in 95 of 100 cases.
//
// Where that is more than one step from one size measured to the next, or a point has fewer than
// three undisturbed rounds, it cannot be told: the Crossover is Unsure, or the direction is not
// recommended for and is in Recommendation.Unsure. But where inline and chunks are so close that
// the default loses little, the default is recommended; and where other rounds could have come to
// that, nothing that is far from it. So runs on one machine do not contradict each other.
func Conclude(r *Result) {
	all := duels(r.Measured)
	r.Crossovers = nil
	for i := range all {
		if len(all[i].curve) > 1 {
			x := all[i].crossover(all[i].curve)
			all[i].doubt(&x)
			r.Crossovers = append(r.Crossovers, x)
		}
	}
	r.Advice = recommend(all)
}

// contest is a choice of two ways for payload that travels in the same direction.
type contest struct{ inline, chunk Way }

var (
	forCalls   = contest{InlineCall, ReadChunk}
	forReplies = contest{InlineReply, WriteChunk}
)

// duel is a contest over one path, with so many calls in flight and connections.
type duel struct {
	contest
	path            Path
	inFlight, conns int
	curve
	rounds []speeds // at each size of the curve
}

// duels finds all of them that have a size in common, in the order of what was measured.
func duels(measured []Measurement) []duel {
	type key struct {
		contest
		path            Path
		inFlight, conns int
	}
	var order []key
	sides := make(map[key]*[2]map[int]*Measurement) // by size: inline, chunk
	for i := range measured {
		m := &measured[i]
		for _, c := range []contest{forCalls, forReplies} {
			if m.Way != c.inline && m.Way != c.chunk || !measures(m) {
				continue
			}
			k := key{c, m.Path, m.InFlight, m.Conns}
			if sides[k] == nil {
				sides[k] = &[2]map[int]*Measurement{{}, {}}
				order = append(order, k)
			}
			side := 0
			if m.Way == c.chunk {
				side = 1
			}
			sides[k][side][m.Size] = m
		}
	}

	corrected := corrections(measured)
	var all []duel
	for _, k := range order {
		d := duel{contest: k.contest, path: k.path, inFlight: k.inFlight, conns: k.conns}
		for size, inline := range sides[k][0] {
			if chunk := sides[k][1][size]; chunk != nil {
				d.rounds = append(d.rounds, speedsOf(inline, chunk, corrected))
			}
		}
		if len(d.rounds) == 0 {
			continue
		}
		slices.SortFunc(d.rounds, func(a, b speeds) int { return cmp.Compare(a.size, b.size) })
		for i := range d.rounds {
			d.curve = append(d.curve, d.rounds[i].lead())
		}
		all = append(all, d)
	}
	return all
}

// measures tells whether there is something to compare.
func measures(m *Measurement) bool { return m.Size > 0 && len(m.counted()) > 0 }

// crossover is that of d if its curve is c.
func (d *duel) crossover(c curve) Crossover {
	last := c[len(c)-1]
	x := Crossover{
		Path: d.path, Inline: d.inline, Chunk: d.chunk, InFlight: d.inFlight, Conns: d.conns,
		Least: c[0].size, Up: last.size, Gain: math.Exp(last.by),
	}
	for _, l := range c {
		x.Leads = append(x.Leads, Lead{l.size, math.Exp(l.by)})
	}
	k := c.split(0)
	x.Always = k == 0
	if k > 0 && k < len(c) {
		x.Size = c.cross(k)
	}
	c.weigh(&x)
	return x
}
