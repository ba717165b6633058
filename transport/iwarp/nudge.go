package iwarp

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Linux's siw, as the listening side, looks at what it has received when more of it arrives. What arrived between its MPA Reply and
// the moment in which it was ready it overlooks until then, and that is easily the first message of a quick peer: a call, whose answer
// both sides would wait for without end. So a dialing side whose first message remains without any answer sends something that
// asks for nothing, an RDMA Write of no bytes, which no receiver checks (RFC 5040 section 5.1).

// maxNudges is how many are sent, each after twice the time of the one before.
const maxNudges = 6

// awaitAnswer has the peer nudged if it does not answer what has been sent for the first time; e.mu is held.
func (e *endpoint) awaitAnswer() {
	if e.nudgeAfter == 0 || e.answered || e.nudges != nil {
		return
	}
	e.nudges = time.AfterFunc(e.nudgeAfter, e.nudge)
}

// nudge sends a Write of no bytes.
func (e *endpoint) nudge() {
	e.mu.Lock()
	if e.answered || e.err != nil || e.nudged == maxNudges {
		e.mu.Unlock()
		return
	}
	if e.queues.rtr == 0 {
		e.queues.rtr = ddp.RTRWrite
	}
	e.nudged++
	e.nudges.Reset(e.nudgeAfter << e.nudged)
	e.mu.Unlock()
	e.Poll() // what others have posted may leave with it
}

// hearNudged notes that the peer has sent something; e.mu is held.
func (e *endpoint) hearNudged() {
	e.answered = true
	if e.nudges != nil {
		e.nudges.Stop()
	}
}
