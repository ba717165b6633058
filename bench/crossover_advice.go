package bench

import (
	"fmt"
	"math"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

const (
	inlineUnit = 1 << 10 // inline sizes are multiples of it
	maxAdvice  = rpcrdma.MaxInline
	// headerRoom is the room in bytes for those of the transport, of RPC with its credential, and for the arguments beside the payload.
	headerRoom = 512
	// grantedCredits is how many receives a side posts for a connection (the default of rpcrdma.Config.Credits).
	grantedCredits = 64
)

// worth is by how much inline must be faster to be worth the memory of larger receives.
var worth = math.Log(1.05)

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

	if send > 0 {
		r.MinChunk = send - headerRoom // so that the payload of a call that does not fit inline goes by chunk
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
	for _, p := range []Path{IWARP, IWARPCRC, IWARPMarkers, Loopback} {
		if points[p] > points[best] && (p != Loopback || best == "") {
			best = p
		}
	}
	return best
}

// choose returns the inline size for one direction, and why; 0 if that cannot be told.
func choose(all []duel, path Path, c contest, what string) (inline int, why string) {
	var curves []curve
	for i := range all {
		if all[i].path == path && all[i].contest == c {
			curves = append(curves, all[i].curve)
		}
	}
	m := middle(curves)
	switch len(m) {
	case 0:
		return 0, fmt.Sprintf("%s: no size was measured both inline and by %s, so nothing is recommended.", what, c.chunk)
	case 1:
		return 0, fmt.Sprintf("%s: only %s was measured both inline and by %s, which is too little to recommend anything.", what, FormatSize(m[0].size), c.chunk)
	}

	k, last := m.split(worth), m[len(m)-1]
	switch k {
	case 0:
		return inlineUnit, fmt.Sprintf("%s: inline is at no size faster by 5 %% (%s at %s, %s at %s), so the smallest threshold will do.",
			what, versus(m[0].by), FormatSize(m[0].size), versus(last.by), FormatSize(last.size))
	case len(m):
		inline = roundUp(last.size + headerRoom)
		end := "larger ones were not measured inline."
		if inline > maxAdvice {
			inline, end = maxAdvice, "inline goes no further."
		}
		return inline, fmt.Sprintf("%s: inline is faster at all sizes up to %s (%.2f times as fast there); %s", what, FormatSize(last.size), math.Exp(-last.by), end)
	}
	// What was measured to be faster inline has to fit; beyond, the larger size was only interpolated.
	x := m.cross(k, worth)
	inline = min(max(roundUp(m[k-1].size+headerRoom), (x+headerRoom)/inlineUnit*inlineUnit), maxAdvice)
	return inline, fmt.Sprintf("%s: up to about %s inline is faster by 5 %% or more (at %s %s); above, a %s will do (at %s %s).", what, FormatSize(x),
		FormatSize(m[k-1].size), versus(m[k-1].by), c.chunk, FormatSize(m[k].size), versus(m[k].by))
}

// versus says who is ahead.
func versus(by float64) string {
	switch x := math.Exp(math.Abs(by)); {
	case x < 1.005:
		return "equal"
	case by > 0:
		return fmt.Sprintf("the chunk %.2f times as fast", x)
	default:
		return fmt.Sprintf("inline %.2f times as fast", x)
	}
}

func roundUp(n int) int { return (n + inlineUnit - 1) / inlineUnit * inlineUnit }
