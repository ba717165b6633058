// Package pace tells a slow peer from a stalled one, for any LLP. The LLP counts the bytes that the
// peer has moved, and asks at each tick:
//
//	p := pace.New(30 * time.Second)
//	p.Begin(moved) // there is something to wait for
//	// after each p.Tick of waiting:
//	if p.Ticked(moved) { ... } // stalled
package pace

import "time"

// A peer does its part if it moves leastMoved bytes within the stall timeout, and leastRate bytes a
// second on average. Upper layers may require the same (rpcrdma.Config.PeerTimeout). A byte now and
// then is not enough.
const (
	leastMoved = 16 << 10
	leastRate  = 1 << 10
)

// Ticks is the number of ticks in the stall timeout.
const Ticks = 4

// Pace is the pace of a peer. It counts time in ticks during which this side waited for the peer.
// If this side was busy for longer than a tick, that counts as one.
type Pace struct {
	Tick time.Duration
	Used int // ticks since enough last moved

	// Enough is how many bytes within Ticks show that the peer does its part.
	Enough int
	mark   int // bytes moved when they were last enough
}

// New returns a Pace for a stall timeout.
func New(stall time.Duration) Pace {
	return Pace{
		Tick:   max(stall/Ticks, 1),
		Enough: max(leastMoved, leastRate*int(stall/time.Second)),
	}
}

// Begin starts the wait, when moved bytes have moved so far.
func (p *Pace) Begin(moved int) { p.mark, p.Used = moved, 0 }

// Ticked is called when a tick has passed, with the bytes moved so far. It reports whether the peer
// has stalled, five quarters of the stall timeout after Begin at the earliest.
func (p *Pace) Ticked(moved int) (stalled bool) {
	if moved-p.mark >= p.Enough {
		p.Begin(moved)
		return false
	}
	p.Used++
	return p.Used > Ticks
}
