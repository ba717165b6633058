package rpcrdma

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// caller makes the calls of this side of a connection. A call goes through these files, in this
// order: roundtrip.go, calllayout.go, callsend.go, callreply.go; or callcancel.go, if it is
// cancelled.
type caller struct {
	l       *link
	window  *credits.Window
	xid     atomic.Uint32 // the last XID that we chose
	limited bool          // Config.LimitBackwardCalls

	// Conn.mu guards what follows.
	pending callTable // calls that await their reply
	heard   uint64    // numbers the messages that are, or may be, replies to them
	granted uint64    // number of the message whose grant is in force
}

// open initializes a caller without calls.
func (cl *caller) open(l *link) {
	cl.l, cl.window = l, credits.NewWindow(l.cfg.Credits)
	cl.xid.Store(rand.Uint32())
}

// Receives that Linux has for backward calls (net/sunrpc/xprtrdma of Linux 6.1).
const (
	// It connects with 1 + RPCRDMA_MAX_RECV_BATCH receives. One is for the first forward reply.
	backwardFirst = 7
	// When it has handled a forward reply it has RPCRDMA_BACKWARD_WRS or more beyond the credits
	// that the reply grants.
	backwardLater = 32
)

// limit makes calls wait as Config.LimitBackwardCalls says.
func (cl *caller) limit() {
	cl.limited = true
	cl.window.LimitToRefills(backwardFirst, backwardLater)
}

// awaits reports whether a call with that XID awaits its reply.
func (cl *caller) awaits(xid uint32) bool {
	cl.l.mu.Lock()
	defer cl.l.mu.Unlock()
	return cl.pending.get(xid) != nil
}

// invalidated notes that a message with that XID has ended the window of tag. The tag may soon name
// another window, so it must not be invalidated again for this one. A peer should end only windows
// of the call that it replies to; a window of another call is found, too.
func (cl *caller) invalidated(xid uint32, tag transport.STag) {
	cl.l.mu.Lock()
	defer cl.l.mu.Unlock()
	if k := cl.pending.get(xid); k != nil && k.windows.lost(tag) {
		return
	}
	for k := range cl.pending.all {
		if k.windows.lost(tag) {
			return
		}
	}
}

// remove takes a call off the table; Conn.mu is held.
func (cl *caller) remove(k *call) {
	cl.pending.remove(k)
	cl.l.receives.Answered()
}
