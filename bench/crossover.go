package bench

import (
	"cmp"
	"math"
	"slices"
)

// Conclude compares sending inline with chunks, and sets r.Crossovers and r.Advice.
//
// It compares each pair of ways at the sizes at which both were measured, by the median throughput
// of the rounds. It corrects each round by the yardstick right before it, as far as the two vary
// together, so that the machine's speed at the moment matters little.
//
// # Crossovers
//
// In theory two throughputs cross once, but noise adds more crossings. Conclude chooses the switch
// from inline to chunks that loses the least throughput over the sizes measured, as a sum of
// logarithms. A single size counts for at most a factor of 1.5, so that one spoiled measurement
// does not decide. Between two sizes it interpolates on logarithmic axes. With only one size in
// common there is no crossover.
//
// Repeated measurements of one point differ by some percent, so a lead below [NoiseBand] means
// nothing. Conclude therefore finds two more switches: one that favours the chunk by the band, and
// one that favours inline. Inline is faster up to the first, the chunk is faster from the second
// on, and between them either will do.
//
// # Recommendation
//
// The recommendation is for the path over a wire with the most data, or for Loopback if there is no
// other. It recommends inline up to where it is no longer faster by the band. If that differs
// between numbers of calls and connections, it chooses what loses the least over all of them. It
// never goes below the default. It prefers small sizes because a connection posts a receive of that
// size for every credit. If fewer than two sizes can be compared, it recommends nothing, and Why
// says so.
//
// # Certainty
//
// Other rounds would have given other results. Conclude estimates how different by the bootstrap:
// it draws as many undisturbed rounds of each point as there are, with replacement, concludes from
// these, and repeats. The ranges contain 95 % of these results.
//
// A result is unsure if it varies by more than one step between measured sizes, or if a point has
// fewer than three undisturbed rounds. Then Crossover.Unsure is set, or the direction is listed in
// Recommendation.Unsure. There are two exceptions. If the default loses little, it is recommended.
// And if other rounds could have led to that, nothing far from the default is recommended. So runs
// on one machine do not contradict each other.
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

// contest is a pair of ways for payload that travels in the same direction.
type contest struct{ inline, chunk Way }

var (
	forCalls   = contest{InlineCall, ReadChunk}
	forReplies = contest{InlineReply, WriteChunk}
)

// duel compares the two ways of a contest over one path, with one number of calls and connections.
type duel struct {
	contest
	path            Path
	inFlight, conns int
	curve
	rounds []speeds // at each size of the curve
}

// duels returns all comparisons that have a size in common, in the order of the measurements.
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

// measures reports whether m can be compared.
func measures(m *Measurement) bool { return m.Size > 0 && len(m.counted()) > 0 }

// crossover returns the crossover of d, given the curve c.
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
