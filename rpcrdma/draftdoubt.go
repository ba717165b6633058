package rpcrdma

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// maxDoubts is how many messages that may be the reply to one call are fetched at a time: the
// reply, and a call that bears its transaction id.
const maxDoubts = 2

// doubt takes a long message that bears the transaction id of a call of ours, and may be the reply
// to that or a call of the peer's. It is fetched like a call, but is none yet: a reply must not
// wait for the memory of calls, nor take part in the account of grants.
func (d *draft) doubt(r *receive, xid uint32) {
	c := d.conn
	c.mu.Lock()
	if c.over || d.doubts[xid] == maxDoubts {
		c.mu.Unlock()
		c.receiver.ignore(r, fmt.Errorf("%w: long messages of one XID", ErrMalformed))
		return
	}
	d.doubts[xid]++
	c.flow.arrived(r)
	c.caller.heard++
	in := c.responder.newIncoming(r)
	in.args.heard = c.caller.heard
	c.mu.Unlock()
	if err := in.checkChunks(); err != nil {
		d.isReply(in) // which says what is wrong with it
		return
	}
	in.needs = int64(in.args.reads[0].Len) // the message alone
	d.fetchDoubtful(in)
}

// fetchDoubtful fetches a message in doubt. Where there is no memory for it that is done for one at
// a time all the same.
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

// doubtRead is told how the fetching of a message in doubt goes.
type doubtRead incoming

// Complete takes the message for what it is when the last Read is complete.
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
			// It waits like others, without memory, and is fetched again.
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

// reserveRest reports whether a call whose message is here has got the rest of the memory that it
// needs. It must not wait for that with what it has.
func (d *draft) reserveRest(in *incoming) bool {
	if in.checkChunks() != nil || in.needs == 0 {
		return true
	}
	return d.conn.flow.memory.chunks.tryReserve(&d.conn.flow.share, in, false)
}

// isReply takes for a reply what was in doubt.
func (d *draft) isReply(in *incoming) {
	d.conn.mu.Lock()
	next := d.settled(in)
	in.concludes(in.args.heard)
	if next != nil {
		d.fetchDoubtful(next)
	}
}

// settled notes that a message is in doubt no more, and returns another one that can be fetched
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

// abort gives up a message that could not be read, so that the connection cannot go on.
func (d *draft) abort(in *incoming, err error) {
	in.failed(err)
	in.finish()
}
