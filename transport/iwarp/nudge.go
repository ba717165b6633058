package iwarp

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// nudger reminds a peer that may have overlooked our first message, from a dialing side.
//
// Linux's siw, as the listening side, looks at what it has received when more of it arrives. What
// arrived between its MPA Reply and the moment in which it was ready it overlooks until then. That
// is easily the first message of a quick peer: a call, whose answer both sides would wait for
// without end. So a side whose first message remains without any answer sends something that asks
// for nothing, an RDMA Write of no bytes, which no receiver checks (RFC 5040 section 5.1).
//
// The link's mu guards all but after.
type nudger struct {
	after  time.Duration // zero if the peer is not to be nudged
	heard  bool          // the peer has sent something
	sender *sender
	timer  *time.Timer
	count  int
}

// maxNudges is how many are sent, each after twice the time of the one before.
const maxNudges = 6

// await has the peer nudged if it does not answer what has been sent for the first time; the link's
// mu is held.
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

// nudge sends a Write of no bytes.
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
