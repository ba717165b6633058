package rpcrdma

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// caller makes the calls of this side of a connection. Its call goes through these files, in this
// order: roundtrip.go, calllayout.go, callsend.go, callreply.go; or callcancel.go, if it is given
// up.
type caller struct {
	conn   *Conn
	window *credits.Window
	xid    atomic.Uint32 // last transaction id of our own choice

	// Conn.mu guards what follows.
	pending map[uint32]*call // that await their reply
	heard   uint64           // numbers what has come as a reply to these, or may be one
	granted uint64           // number of that whose grant is in force
}

// open begins without a call under way.
func (cl *caller) open(c *Conn) {
	cl.conn, cl.window, cl.pending = c, credits.NewWindow(c.cfg.Credits), make(map[uint32]*call)
	cl.xid.Store(rand.Uint32())
}

// awaits reports whether a call of this side awaits its reply.
func (cl *caller) awaits(xid uint32) bool {
	c := cl.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return cl.pending[xid] != nil
}

// invalidated notes that a message has ended the window of tag, which may be that of
// another window soon: then it must not be invalidated for the old one. xid is that of
// the message. A peer should end windows of the call that it replies to, and no others.
func (cl *caller) invalidated(xid uint32, tag transport.STag) {
	c := cl.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := cl.pending[xid]; k != nil && k.windows.lost(tag) {
		return
	}
	for _, k := range cl.pending {
		if k.windows.lost(tag) {
			return
		}
	}
}
