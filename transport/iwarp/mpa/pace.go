package mpa

import "time"

// A peer does its part if it moves leastMoved bytes within ConnOptions.Stall, and leastRate bytes in
// each second of that: as upper layers may have it for what waits above (rpcrdma.Config.PeerTimeout).
// So one that moves a byte now and then does not.
const (
	leastMoved = 16 << 10
	leastRate  = 1 << 10
)

// stallTicks is the number of ticks that make ConnOptions.Stall.
const stallTicks = 4

// pace tells a slow peer from one that has stalled. Time is counted in ticks in which this side
// waited for the peer: one in which it had no time to look counts but once, however long it took.
type pace struct {
	tick   time.Duration
	enough int // bytes that show within stallTicks that the peer does its part
	mark   int // bytes that had moved when they were last enough
	ticks  int // since then
}

func newPace(stall time.Duration) pace {
	return pace{
		tick:   max(stall/stallTicks, 1),
		enough: max(leastMoved, leastRate*int(stall/time.Second)),
	}
}

// begin notes that from now on there is something to wait for, when so many bytes have moved.
func (p *pace) begin(moved int) { p.mark, p.ticks = moved, 0 }

// ticked takes the number of bytes that have moved when a tick has passed, and reports whether the
// peer has stalled. That takes five quarters of ConnOptions.Stall from begin on.
func (p *pace) ticked(moved int) (stalled bool) {
	if moved-p.mark >= p.enough {
		p.begin(moved)
		return false
	}
	p.ticks++
	return p.ticks > stallTicks
}
