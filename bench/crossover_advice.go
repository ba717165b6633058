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
	inlineUnit = 1 << 10 // recommended inline sizes are multiples of it
	// leastAdvice is the default of rpcrdma.Config. With less, small replies, such as those to
	// READDIR, no longer fit inline.
	leastAdvice = 4 << 10
	maxAdvice   = rpcrdma.MaxInline
	// headerRoom is the room in bytes for the headers of RPC-over-RDMA and RPC, with a credential,
	// and for the arguments beside the payload.
	headerRoom = 512
	// grantedCredits is how many receives a side posts for a connection (the default of
	// rpcrdma.Config.Credits).
	grantedCredits = 64
	// littleLoss is the loss in percent up to which the default is recommended if the best size is
	// unsure. It is twice the noise, because a larger size takes more memory.
	littleLoss = 20
)

// recommend makes the recommendation for the path with the most sizes to compare.
func recommend(all []duel) Recommendation {
	r := Recommendation{Path: mostDuelled(all)}
	if r.Path == "" {
		r.Why = []string{"No recommendation, because no size was measured both inline and by chunk."}
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
		r.Why = append(r.Why, fmt.Sprintf("Minimum chunk size: the smaller of the two, less %d B for headers. "+
			"So payload that does not fit inline goes by chunk.", headerRoom))
	}
	if largest := max(send, recv); largest > 0 {
		r.Why = append(r.Why, fmt.Sprintf("With %d credits, receives of %s take up to %s for each connection.",
			grantedCredits, FormatSize(largest), FormatSize(grantedCredits*largest)))
	}
	return r
}

// mostDuelled returns the path with the most sizes to compare, preferring paths over a wire.
func mostDuelled(all []duel) Path {
	points := make(map[Path]int)
	for i := range all {
		points[all[i].path] += len(all[i].curve)
	}
	return mainPath(points)
}

// mainPath returns the path with the most points, preferring paths over a wire.
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
	within Range // 95 % of inline
	unsure bool  // measured, but the best size is unsure
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
		return choice{why: fmt.Sprintf("%s: no recommendation, because %s is the only size measured both "+
			"inline and by %s.",
			what, FormatSize(only), c.chunk)}
	default:
		return choice{why: fmt.Sprintf("%s: no recommendation, because no size was measured both inline and by %s.",
			what, c.chunk)}
	}
	if len(sure) == 0 {
		return choice{unsure: true, why: fmt.Sprintf("%s: unsure, because a size has fewer than %d undisturbed rounds.",
			what, leastRounds)}
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
		// the recommendation is near the default in any case
	case loss.High <= littleLoss:
		return choice{leastAdvice, within, false, fmt.Sprintf(
			"%s: the largest size at which inline is faster is unsure, but the default, %s, will do: "+
				"it makes larger payloads at most %d %% slower on average (95 %% certain).",
			what, FormatSize(leastAdvice), loss.High)}
	case !within.oneStep(sizes) || loss.Low <= littleLoss:
		// other rounds could have led to the default
		return choice{within: within, unsure: true, why: fmt.Sprintf(
			"%s: unsure: the best inline size is between %s and %s (95 %% certain).",
			what, FormatSize(within.Low), FormatSize(within.High))}
	}
	overall, certainty, end := "", "", ""
	if !agreed(of) {
		overall = " It depends on calls in flight and connections; this size loses the least over all of them."
	}
	if within.Low != within.High {
		certainty = fmt.Sprintf(" The best size is between %s and %s (95 %% certain).",
			FormatSize(within.Low), FormatSize(within.High))
	}
	if inline == leastAdvice {
		return choice{inline, within, false, fmt.Sprintf(
			"%s: inline is not faster by %.0f %% for payloads that do not fit in the default, %s. "+
				"A smaller size would not hold small messages.%s%s",
			what, 100*(NoiseBand-1), FormatSize(leastAdvice), overall, certainty)}
	}
	switch {
	case inline == maxAdvice:
		end = " This is the largest inline size."
	case t.last:
		end = " Larger payloads were not measured inline."
	}
	return choice{inline, within, false, fmt.Sprintf(
		"%s: inline is faster up to %s of payload, which takes %s with headers.%s%s%s",
		what, FormatSize(min(t.payload, inline-headerRoom)), FormatSize(inline), overall, end, certainty)}
}

// turn is the size at which to switch from inline to chunks, over all calls in flight and
// connections.
type turn struct {
	payload int   // the largest for which inline is faster
	sum     curve // of all curves
	last    bool  // payload is the largest size measured
}

// turnOf finds where inline is no longer faster by the band, interpolated between two sizes.
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

// agreed reports whether the crossovers of all duels say the same.
func agreed(of []*duel) bool {
	var all []Crossover
	for _, d := range of {
		all = append(all, d.crossover(d.curve))
	}
	return Decisions(all)[0].Agree()
}

// spreadOf returns the 95 % ranges of the inline size, and of the loss with the default in percent.
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

// lossOfDefault returns what the default loses, as a logarithm, on average over the sizes that do
// not fit in it: what inline would gain there, up to the size at which the gain is largest.
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

// inlineFor returns the inline size with which payload up to this size goes inline.
func inlineFor(payload int) int {
	if payload == 0 {
		return leastAdvice
	}
	return min(max(roundUp(payload+headerRoom), leastAdvice), maxAdvice)
}

func roundUp(n int) int { return (n + inlineUnit - 1) / inlineUnit * inlineUnit }
