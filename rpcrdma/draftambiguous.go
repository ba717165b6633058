package rpcrdma

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// maxAmbiguous is how many messages with one XID may be ambiguous at a time: the reply to our call,
// and a call of the peer with the same XID.
const maxAmbiguous = 2

// ambiguousReads fetches long messages with the XID of our pending call. Each may be its reply or a
// new call of the peer; we fetch it to find out. It does not count as a call yet, because a reply
// must not wait for the memory of calls, and does not count in grants.
type ambiguousReads struct {
	l  *link
	cl *caller
	rs *responder

	// Conn.mu guards what follows.
	byXID   map[uint32]int // how many there are
	forced  *incoming      // one of them that has memory beyond the budget
	waiting []*incoming    // those that wait for the end of forced
}

// take takes such a message. It reports an error if there are too many; then the message is to be
// ignored.
func (a *ambiguousReads) take(r *memory.Receive, xid uint32) error {
	in := a.begin(r, xid)
	if in == nil {
		return fmt.Errorf("%w: too many long messages with one XID", wire.ErrMalformed)
	}
	if err := in.check(); err != nil {
		a.isReply(in) // which finds the error again
		return nil
	}
	in.needs = int64(in.args.lists.Reads[0].Len) // only the message
	a.fetch(in)
	return nil
}

// begin counts a message, or returns nil if there are too many or the connection has ended.
func (a *ambiguousReads) begin(r *memory.Receive, xid uint32) *incoming {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	if a.l.over || a.byXID[xid] == maxAmbiguous {
		return nil
	}
	a.byXID[xid]++
	a.l.receives.Arrived(r)
	a.cl.heard++
	in := a.rs.newIncoming(r)
	in.args.heard = a.cl.heard
	return in
}

// fetch fetches a message. One such message at a time may exceed the budget.
func (a *ambiguousReads) fetch(in *incoming) {
	n := in.needs
	if !a.rs.share.TryReserve(n) {
		if !a.force(in) {
			return
		}
		a.rs.share.Force(n)
	}
	in.reserved, in.needs = in.reserved+n, 0
	err := in.args.readMessage((*ambiguousRead)(in))
	switch {
	case err == nil:
	case errors.Is(err, errNoBuffer):
		a.isReply(in)
	default:
		a.abort(in, err)
	}
}

// force reports whether a message may exceed the budget. Otherwise it waits.
func (a *ambiguousReads) force(in *incoming) bool {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	if a.forced != nil && !a.l.over {
		a.waiting = append(a.waiting, in)
		return false
	}
	a.forced = in
	return true
}

// ambiguousRead is the Completer of the Reads that fetch such a message.
type ambiguousRead incoming

// Complete handles the message as a call or a reply when the last Read is complete.
func (r *ambiguousRead) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(r)
	if last, err := in.args.completed(wr, err); last {
		in.rs.ambiguous.fetched(in, err)
	}
}

// fetched goes on with a message that is here, or could not be fetched.
func (a *ambiguousReads) fetched(in *incoming, err error) {
	if err != nil {
		a.abort(in, err)
		return
	}
	isCall, err := checkLong(in.message.Body, in.header.XID)
	if err == nil && !isCall {
		a.isReply(in)
		return
	}
	l := a.l
	l.mu.Lock()
	forced := a.forced == in
	next := a.settled(in)
	l.granter.CallReceived()
	l.mu.Unlock()
	if err != nil {
		l.fault(&l.stats.Malformed, "call refused", in.header.XID, err)
		in.refuse(wire.ErrChunk)
	} else {
		if forced || !a.reserveRest(in) {
			// It waits like other calls, without memory, and will be fetched again.
			in.args.unload()
			reserved := in.reserved
			in.reserved = 0
			a.rs.release(reserved, 0, 0)
		}
		in.admit()
	}
	if next != nil {
		a.fetch(next)
	}
}

// reserveRest reserves the rest of the memory for a call whose message is here, and reports whether
// that worked. The call must not wait for more memory while it holds some.
func (a *ambiguousReads) reserveRest(in *incoming) bool {
	if in.check() != nil || in.needs == 0 {
		return true
	}
	if !a.rs.share.TryReserve(in.needs) {
		return false
	}
	in.reserved, in.needs = in.reserved+in.needs, 0
	return true
}

// isReply handles a message as a reply.
func (a *ambiguousReads) isReply(in *incoming) {
	a.l.mu.Lock()
	next := a.settled(in)
	c := in.concludes(in.args.heard)
	a.l.mu.Unlock()
	c.goOn()
	in.finish()
	if next != nil {
		a.fetch(next)
	}
}

// settled notes that a message is no longer ambiguous, and returns another one that can be fetched
// now; Conn.mu is held.
func (a *ambiguousReads) settled(in *incoming) (next *incoming) {
	xid := in.header.XID
	if a.byXID[xid]--; a.byXID[xid] == 0 {
		delete(a.byXID, xid)
	}
	if a.forced != in {
		return nil
	}
	a.forced = nil
	if len(a.waiting) > 0 {
		next = a.waiting[0]
		a.waiting = slices.Delete(a.waiting, 0, 1)
	}
	return next
}

// abort drops a message that could not be fetched, and ends the connection.
func (a *ambiguousReads) abort(in *incoming, err error) {
	in.failed(err)
	in.finish()
}

// close returns the messages that will not be fetched, because the connection has ended; Conn.mu is
// held.
func (a *ambiguousReads) close() (waiting []*incoming) {
	waiting, a.waiting = a.waiting, nil
	return waiting
}
