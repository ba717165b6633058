package bench

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

const (
	inlineUnit = 1 << 10 // inline sizes are multiples of it
	// leastAdvice is the default of rpcrdma.Config: with less, small replies such as those to READDIR no longer go inline.
	leastAdvice = 4 << 10
	maxAdvice   = rpcrdma.MaxInline
	// headerRoom is the room in bytes for those of the transport, of RPC with its credential, and for the arguments beside the payload.
	headerRoom = 512
	// grantedCredits is how many receives a side posts for a connection (the default of rpcrdma.Config.Credits).
	grantedCredits = 64
)

// recommend says what to set on the path that the duels tell most of.
func recommend(all []duel) Recommendation {
	r := Recommendation{Path: mostDuelled(all)}
	if r.Path == "" {
		r.Why = []string{"No size was measured both inline and by chunk, so this run cannot recommend anything."}
		return r
	}
	send, why := choose(all, r.Path, forCalls, "Calls")
	r.InlineSend, r.Why = send, append(r.Why, why)
	recv, why := choose(all, r.Path, forReplies, "Replies")
	r.InlineRecv, r.Why = recv, append(r.Why, why)

	if send > 0 && recv > 0 {
		// One setting for both directions: above the smaller threshold, payload must not be too small for a chunk.
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
	var best Path
	for _, p := range []Path{IWARP, IWARPCRC, IWARPMarkers, RoCE, Loopback} {
		if points[p] > points[best] && (p != Loopback || best == "") {
			best = p
		}
	}
	return best
}

// choose returns the inline size for one direction, and why; 0 if that cannot be told.
func choose(all []duel, path Path, c contest, what string) (inline int, why string) {
	var curves []curve
	var crossovers []Crossover
	only := 0
	for i := range all {
		switch d := &all[i]; {
		case d.path != path || d.contest != c:
		case len(d.curve) == 1:
			only = d.curve[0].size
		default:
			curves, crossovers = append(curves, d.curve), append(crossovers, d.crossover())
		}
	}
	switch {
	case len(curves) > 0:
	case only > 0:
		return 0, fmt.Sprintf("%s: only %s was measured both inline and by %s, which is too little to recommend anything.", what, FormatSize(only), c.chunk)
	default:
		return 0, fmt.Sprintf("%s: no size was measured both inline and by %s, so nothing is recommended.", what, c.chunk)
	}

	decision := Decisions(crossovers)[0]
	sum := together(curves, band)
	k := sum.least()
	payload, overall := 0, ""
	if k > 0 {
		payload = sum[k-1].size
	}
	if from := decision.crossing(); from > 0 {
		payload = from
	}
	if !decision.Agree() {
		overall = "; it depends on calls in flight and connections, and this loses the least over all measured"
	}
	inline = roundUp(payload + headerRoom)
	if payload == 0 || inline <= leastAdvice {
		return leastAdvice, fmt.Sprintf("%s: inline is not faster by %.0f %% beyond what %s, the default, holds, and small messages should fit%s.", what, 100*(NoiseBand-1), FormatSize(leastAdvice), overall)
	}
	inline = min(inline, maxAdvice)
	end := ""
	switch {
	case inline == maxAdvice:
		end = " Inline goes no further."
	case k == len(sum):
		end = " Larger ones were not measured inline."
	}
	return inline, fmt.Sprintf("%s: %s holds headers and payload of %s, up to which inline is faster%s.%s",
		what, FormatSize(inline), FormatSize(min(payload, inline-headerRoom)), overall, end)
}

func roundUp(n int) int { return (n + inlineUnit - 1) / inlineUnit * inlineUnit }
