// Package pace tells a slow peer from one that has stalled, for any LLP.
package pace

import "time"

// A peer does its part if it moves leastMoved bytes within the stall timeout, and leastRate bytes
// in each second of that: as upper layers may have it for what waits above
// (rpcrdma.Config.PeerTimeout). So one that moves a byte now and then does not.
const (
	leastMoved = 16 << 10
	leastRate  = 1 << 10
)

// Ticks is the number of ticks that make the stall timeout.
const Ticks = 4

// Pace is that of a peer. Time is counted in ticks in which this side waited for the peer: one in
// which it had no time to look counts but once, however long it took.
type Pace struct {
	Tick time.Duration
	Used int // ticks since enough had moved last

	// Enough is how many bytes show within Ticks that the peer does its part.
	Enough int
	mark   int // bytes that had moved when they were last enough
}

// New returns the Pace of a peer that may take so long.
func New(stall time.Duration) Pace {
	return Pace{
		Tick:   max(stall/Ticks, 1),
		Enough: max(leastMoved, leastRate*int(stall/time.Second)),
	}
}

// Begin notes that from now on there is something to wait for, when so many bytes have moved.
func (p *Pace) Begin(moved int) { p.mark, p.Used = moved, 0 }

// Ticked takes the number of bytes that have moved when a tick has passed, and reports whether the
// peer has stalled. That takes five quarters of the stall timeout from Begin on.
func (p *Pace) Ticked(moved int) (stalled bool) {
	if moved-p.mark >= p.Enough {
		p.Begin(moved)
		return false
	}
	p.Used++
	return p.Used > Ticks
}
