package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

const (
	inlineUnit = 1 << 10 // inline sizes are multiples of it
	// leastAdvice is the default of rpcrdma.Config: with less, small replies such as those to
	// READDIR no longer go inline.
	leastAdvice = 4 << 10
	maxAdvice   = rpcrdma.MaxInline
	// headerRoom is the room in bytes for those of the transport, of RPC with its credential, and
	// for the arguments beside the payload.
	headerRoom = 512
	// grantedCredits is how many receives a side posts for a connection (the default of
	// rpcrdma.Config.Credits).
	grantedCredits = 64
	// littleLoss is up to which loss in percent the default is recommended where it cannot be told
	// what is best: twice the noise, since a larger size has its price.
	littleLoss = 20
)

// recommend says what to set on the path that the duels tell most of.
func recommend(all []duel) Recommendation {
	r := Recommendation{Path: mostDuelled(all)}
	if r.Path == "" {
		r.Why = []string{"No size was measured both inline and by chunk, so this run cannot recommend anything."}
		return r
	}
	for _, side := range []struct {
		contest
		what   string
		inline *int
		within *Range
	}{{forCalls, "calls", &r.InlineSend, &r.SendRange}, {forReplies, "replies", &r.InlineRecv, &r.RecvRange}} {
		c := choose(all, r.Path, side.contest, strings.ToUpper(side.what[:1])+side.what[1:])
		*side.inline, *side.within, r.Why = c.inline, c.within, append(r.Why, c.why)
		if c.unsure {
			r.Unsure = append(r.Unsure, side.what)
		}
	}

	send, recv := r.InlineSend, r.InlineRecv
	if send > 0 && recv > 0 {
		// One setting for both directions: above the smaller threshold, payload must not be too
		// small for a chunk.
		r.MinChunk = min(send, recv) - headerRoom
		r.Why = append(r.Why, fmt.Sprintf("Minimum chunk size: the smaller of the two without %d B for headers, so that payload goes by chunk wherever its message does not fit inline.", headerRoom))
	}
	if largest := max(send, recv); largest > 0 {
		r.Why = append(r.Why, fmt.Sprintf("Receives of %s for %d credits take up to %s a connection.", FormatSize(largest), grantedCredits, FormatSize(grantedCredits*largest)))
	}
	return r
}

// mostDuelled returns the path with the most sizes to compare, one over a wire if there is any.
func mostDuelled(all []duel) Path {
	points := make(map[Path]int)
	for i := range all {
		points[all[i].path] += len(all[i].curve)
	}
	return mainPath(points)
}

// mainPath returns the path with the most points, one over a wire if there is any.
func mainPath(points map[Path]int) (best Path) {
	for _, p := range []Path{IWARP, IWARPCRC, IWARPMarkers, RoCE, Loopback} {
		if points[p] > points[best] && (p != Loopback || best == "") {
			best = p
		}
	}
	return best
}

// choice is what is recommended for one direction, and why.
type choice struct {
	inline int   // 0: nothing
	within Range // where inline lies
	unsure bool  // it was measured, and cannot be told
	why    string
}

// choose decides for one direction.
func choose(all []duel, path Path, c contest, what string) choice {
	var of, sure []*duel
	only := 0
	for i := range all {
		switch d := &all[i]; {
		case d.path != path || d.contest != c:
		case len(d.curve) == 1:
			only = d.curve[0].size
		default:
			of = append(of, d)
			if d.tell() {
				sure = append(sure, d)
			}
		}
	}
	switch {
	case len(of) > 0:
	case only > 0:
		return choice{why: fmt.Sprintf("%s: only %s was measured both inline and by %s, which is too little to recommend anything.", what, FormatSize(only), c.chunk)}
	default:
		return choice{why: fmt.Sprintf("%s: no size was measured both inline and by %s, so nothing is recommended.", what, c.chunk)}
	}
	if len(sure) == 0 {
		return choice{unsure: true, why: fmt.Sprintf("%s: it cannot be told: a size has fewer than %d rounds that were not disturbed.", what, leastRounds)}
	}

	of = sure
	var curves []curve
	for _, d := range of {
		curves = append(curves, d.curve)
	}
	t := turnOf(curves)
	inline := inlineFor(t.payload)
	within, loss := spreadOf(of)
	sizes := t.sum.sizes()
	switch {
	case Range{leastAdvice, within.High}.oneStep(sizes):
		// what is told is near the default in any case
	case loss.High <= littleLoss:
		return choice{leastAdvice, within, false, fmt.Sprintf("%s: up to where inline is faster cannot be told, but %s, the default, will do: sizes beyond it are slower with it by %d %% on average at most, with a certainty of 95 %%.",
			what, FormatSize(leastAdvice), loss.High)}
	case !within.oneStep(sizes) || loss.Low <= littleLoss:
		// other rounds could have told the default
		return choice{within: within, unsure: true, why: fmt.Sprintf("%s: it cannot be told: the inline size is between %s and %s, with a certainty of 95 %%.",
			what, FormatSize(within.Low), FormatSize(within.High))}
	}
	overall, certainty, end := "", "", ""
	if !agreed(of) {
		overall = "; it depends on calls in flight and connections, and this loses the least over all measured"
	}
	if within.Low != within.High {
		certainty = fmt.Sprintf(" It is between %s and %s, with a certainty of 95 %%.", FormatSize(within.Low), FormatSize(within.High))
	}
	if inline == leastAdvice {
		return choice{inline, within, false, fmt.Sprintf("%s: inline is not faster by %.0f %% beyond what %s, the default, holds, and small messages should fit%s.%s",
			what, 100*(NoiseBand-1), FormatSize(leastAdvice), overall, certainty)}
	}
	switch {
	case inline == maxAdvice:
		end = " Inline goes no further."
	case t.last:
		end = " Larger ones were not measured inline."
	}
	return choice{inline, within, false, fmt.Sprintf("%s: %s holds headers and payload of %s, up to which inline is faster%s.%s%s",
		what, FormatSize(inline), FormatSize(min(t.payload, inline-headerRoom)), overall, end, certainty)}
}

// turn is where one way should follow the other, over all calls in flight and connections.
type turn struct {
	payload int   // up to which inline is faster
	sum     curve // of all
	last    bool  // payload is the largest size measured
}

// turnOf finds it for curves: where inline is no longer faster by the band, between two sizes.
func turnOf(curves []curve) turn {
	t := turn{sum: together(curves, band)}
	k := t.sum.least()
	t.last = k == len(t.sum)
	switch {
	case t.last:
		t.payload = t.sum[k-1].size
	case k > 0:
		t.payload = t.sum.cross(k)
	}
	return t
}

// agreed reports whether the crossovers of duels say the same.
func agreed(of []*duel) bool {
	var all []Crossover
	for _, d := range of {
		all = append(all, d.crossover(d.curve))
	}
	return Decisions(all)[0].Agree()
}

// spreadOf is where the inline size for duels lies, and between which percentages what is lost with
// the default.
func spreadOf(of []*duel) (within, loss Range) {
	s := newSampler()
	var sizes, losses []int
	curves := make([]curve, len(of))
	for range draws {
		s.draw()
		for i, d := range of {
			curves[i] = s.curve(d)
		}
		sizes = append(sizes, inlineFor(turnOf(curves).payload))
		losses = append(losses, int(math.Ceil(100*(math.Exp(lossOfDefault(curves))-1))))
	}
	return intervalOf(sizes), intervalOf(losses)
}

// lossOfDefault is what is lost with the default, as a logarithm and on average over the sizes that
// go beyond it: what inline would gain there, up to where it gains the most.
func lossOfDefault(curves []curve) float64 {
	n := 0
	for i, c := range curves {
		beyond := slices.IndexFunc(c, func(l lead) bool { return l.size > leastAdvice-headerRoom })
		if beyond < 0 {
			beyond = len(c)
		}
		curves[i] = c[beyond:]
		n += len(curves[i])
	}
	bySize := make(map[int]float64)
	for _, c := range curves {
		for _, l := range c {
			bySize[l.size] += l.by
		}
	}
	sum, least := 0.0, 0.0
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		sum += bySize[size]
		least = min(least, sum)
	}
	return -least / float64(max(1, n))
}

// inlineFor is the inline size with which payload up to a size goes inline.
func inlineFor(payload int) int {
	if payload == 0 {
		return leastAdvice
	}
	return min(max(roundUp(payload+headerRoom), leastAdvice), maxAdvice)
}

func roundUp(n int) int { return (n + inlineUnit - 1) / inlineUnit * inlineUnit }
