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
	pending callTable // that await their reply
	heard   uint64    // numbers what has come as a reply to these, or may be one
	granted uint64    // number of that whose grant is in force
}

// open begins without a call under way.
func (cl *caller) open(c *Conn) {
	cl.conn, cl.window = c, credits.NewWindow(c.cfg.Credits)
	cl.xid.Store(rand.Uint32())
}

// awaits reports whether a call of this side awaits its reply.
func (cl *caller) awaits(xid uint32) bool {
	c := cl.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return cl.pending.get(xid) != nil
}

// invalidated notes that a message has ended the window of tag, which may be that of
// another window soon: then it must not be invalidated for the old one. xid is that of
// the message. A peer should end windows of the call that it replies to, and no others.
func (cl *caller) invalidated(xid uint32, tag transport.STag) {
	c := cl.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := cl.pending.get(xid); k != nil && k.windows.lost(tag) {
		return
	}
	for k := range cl.pending.all {
		if k.windows.lost(tag) {
			return
		}
	}
}

// callTable is calls by transaction id. Who makes one call at a time needs no map, which would be
// three lines of 64 bytes to touch.
type callTable struct {
	n     int
	first *call            // one of them; nil if that has left
	rest  map[uint32]*call // the others
}

// get returns the call with that transaction id, or nil.
func (t *callTable) get(xid uint32) *call {
	switch {
	case t.n == 0:
		return nil
	case t.first != nil && t.first.xid == xid:
		return t.first
	}
	return t.rest[xid]
}

// add adds a call, whose transaction id no other has.
func (t *callTable) add(k *call) {
	t.n++
	if t.first == nil {
		t.first = k
		return
	}
	if t.rest == nil {
		t.rest = make(map[uint32]*call)
	}
	t.rest[k.xid] = k
}

// remove removes a call, which is there.
func (t *callTable) remove(k *call) {
	t.n--
	if t.first == k {
		t.first = nil
		return
	}
	delete(t.rest, k.xid)
}

// all yields the calls, in no order.
func (t *callTable) all(yield func(*call) bool) {
	if t.first != nil && !yield(t.first) {
		return
	}
	for _, k := range t.rest {
		if !yield(k) {
			return
		}
	}
}
