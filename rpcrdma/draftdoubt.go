package rpcrdma

import (
	"errors"
	"fmt"

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
	err := in.checkChunks()
	in.reserved = 0
	if err == nil {
		err = in.args.readMessage((*doubtRead)(in))
		if err != nil && !errors.Is(err, errNoBuffer) {
			d.abort(in, err)
			return
		}
	}
	if err != nil {
		d.isReply(in) // which says what is wrong with it
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
	d.settled(in)
	c.flow.wasCall()
	c.mu.Unlock()
	if err != nil {
		c.fault(&c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
		return
	}
	in.admit()
}

// isReply takes for a reply what was in doubt.
func (d *draft) isReply(in *incoming) {
	d.conn.mu.Lock()
	d.settled(in)
	in.concludes(in.args.heard)
}

// settled notes that a message is in doubt no more; Conn.mu is held.
func (d *draft) settled(in *incoming) {
	xid := in.header.XID
	if d.doubts[xid]--; d.doubts[xid] == 0 {
		delete(d.doubts, xid)
	}
}

// abort gives up a message that could not be read, so that the connection cannot go on.
func (d *draft) abort(in *incoming, err error) {
	in.failed(err)
	in.finish()
}
