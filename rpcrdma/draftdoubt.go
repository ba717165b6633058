package rpcrdma

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// maxDoubts is how many messages with one XID may be in doubt at a time: the reply to our call, and
// a call of the peer with the same XID.
const maxDoubts = 2

// doubt takes a long message with the XID of our pending call. It may be its reply or a new call
// from the peer; we fetch it to find out. It does not count as a call yet, because a reply must not
// wait for the memory of calls, and does not count in grants.
func (d *draft) doubt(r *receive, xid uint32) {
	c := d.conn
	c.mu.Lock()
	if c.over || d.doubts[xid] == maxDoubts {
		c.mu.Unlock()
		c.receiver.ignore(r, fmt.Errorf("%w: too many long messages with one XID", ErrMalformed))
		return
	}
	d.doubts[xid]++
	c.flow.arrived(r)
	c.caller.heard++
	in := c.responder.newIncoming(r)
	in.args.heard = c.caller.heard
	c.mu.Unlock()
	if err := in.checkChunks(); err != nil {
		d.isReply(in) // which finds the error again
		return
	}
	in.needs = int64(in.args.reads[0].Len) // only the message
	d.fetchDoubtful(in)
}

// fetchDoubtful fetches a message in doubt. One such message at a time may exceed the budget.
func (d *draft) fetchDoubtful(in *incoming) {
	c := d.conn
	b, s := c.flow.memory.chunks, &c.flow.share
	if !b.tryReserve(s, in, false) {
		c.mu.Lock()
		if d.forced != nil && !c.over {
			d.inDoubt = append(d.inDoubt, in)
			c.mu.Unlock()
			return
		}
		d.forced = in
		c.mu.Unlock()
		b.tryReserve(s, in, true)
	}
	err := in.args.readMessage((*doubtRead)(in))
	switch {
	case err == nil:
	case errors.Is(err, errNoBuffer):
		d.isReply(in)
	default:
		d.abort(in, err)
	}
}

// doubtRead is the Completer of the Reads that fetch a message in doubt.
type doubtRead incoming

// Complete handles the message as a call or a reply when the last Read is complete.
func (r *doubtRead) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(r)
	last, err := in.args.completed(wr, err)
	if !last {
		return
	}
	c, d := in.c, in.c.draft
	if err != nil {
		d.abort(in, err)
		return
	}
	isCall, err := checkLong(in.body, in.header.XID)
	if err == nil && !isCall {
		d.isReply(in)
		return
	}
	c.mu.Lock()
	forced := d.forced == in
	next := d.settled(in)
	c.flow.wasCall()
	c.mu.Unlock()
	if err != nil {
		c.fault(&c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
	} else {
		if forced || !d.reserveRest(in) {
			// It waits like other calls, without memory, and will be fetched again.
			in.args.unload()
			reserved := in.reserved
			in.reserved = 0
			c.flow.release(reserved, 0, 0)
		}
		in.admit()
	}
	if next != nil {
		d.fetchDoubtful(next)
	}
}

// reserveRest reserves the rest of the memory for a call whose message is here, and reports whether
// that worked. The call must not wait for more memory while it holds some.
func (d *draft) reserveRest(in *incoming) bool {
	if in.checkChunks() != nil || in.needs == 0 {
		return true
	}
	return d.conn.flow.memory.chunks.tryReserve(&d.conn.flow.share, in, false)
}

// isReply handles a message in doubt as a reply.
func (d *draft) isReply(in *incoming) {
	d.conn.mu.Lock()
	next := d.settled(in)
	in.concludes(in.args.heard)
	if next != nil {
		d.fetchDoubtful(next)
	}
}

// settled notes that a message is no longer in doubt, and returns another one that can be fetched
// now; Conn.mu is held.
func (d *draft) settled(in *incoming) (next *incoming) {
	xid := in.header.XID
	if d.doubts[xid]--; d.doubts[xid] == 0 {
		delete(d.doubts, xid)
	}
	if d.forced != in {
		return nil
	}
	d.forced = nil
	if len(d.inDoubt) > 0 {
		next = d.inDoubt[0]
		d.inDoubt = slices.Delete(d.inDoubt, 0, 1)
	}
	return next
}

// abort drops a message that could not be fetched, and ends the connection.
func (d *draft) abort(in *incoming, err error) {
	in.failed(err)
	in.finish()
}
