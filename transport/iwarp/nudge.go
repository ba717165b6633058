package iwarp

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// nudger reminds a peer that may have overlooked our first message. Only a dialing side needs it.
//
// Linux's siw, as the listening side, looks at its input when more of it arrives. It overlooks what
// arrived between its MPA Reply and the moment when it was ready, until more comes. That is easily
// the first message of a quick peer: a call, and then both sides would wait for its answer for
// ever. So if nothing comes back after a first message, this side sends something that asks for
// nothing: an RDMA Write of length zero, which no receiver checks (RFC 5040 section 5.1).
//
// The link's mu guards all but after.
type nudger struct {
	after  time.Duration // zero if the peer is not to be nudged
	heard  bool          // the peer has sent something
	sender *sender
	timer  *time.Timer
	count  int
}

// maxNudges is how many are sent. Each waits twice as long as the one before.
const maxNudges = 6

// await schedules a nudge if this was the first message sent; the link's mu is held.
func (n *nudger) await() {
	if n.after == 0 || n.heard || n.timer != nil {
		return
	}
	n.timer = time.AfterFunc(n.after, n.nudge)
}

// stop notes that the peer has sent something; the link's mu is held.
func (n *nudger) stop() {
	n.heard = true
	if n.timer != nil {
		n.timer.Stop()
	}
}

// nudge sends a Write of length zero.
func (n *nudger) nudge() {
	l := n.sender.link
	l.mu.Lock()
	if n.heard || l.err != nil || n.count == maxNudges {
		l.mu.Unlock()
		return
	}
	if l.queues.rtr == 0 {
		l.queues.rtr = ddp.RTRWrite
	}
	n.count++
	n.timer.Reset(n.after << n.count)
	l.mu.Unlock()
	n.sender.send()
	n.sender.completer.complete() // what others have posted may have left with it
}
