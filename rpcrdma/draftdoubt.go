package rpcrdma

import "fmt"

// maxDoubts is how many messages that may be the reply to one call are fetched at a time: the reply, and a call that bears its transaction id.
const maxDoubts = 2

// doubt takes a long message that bears the transaction id of a call of ours, and may be the reply to that or a call of the peer's. It is
// fetched like a call, but is none yet: a reply must not wait for the memory of calls, nor take part in the account of grants.
func (rx *receiver) doubt(r *receive) {
	c := rx.conn
	c.mu.Lock()
	xid := rx.header.XID
	if c.over || c.draft.doubts[xid] == maxDoubts {
		c.mu.Unlock()
		rx.ignore(r, fmt.Errorf("%w: long messages of one XID", ErrMalformed))
		return
	}
	c.draft.doubts[xid]++
	c.supply.arrived(r)
	c.caller.heard++
	in := c.responder.newIncoming(r, message{})
	in.doubtful, in.heard = true, c.caller.heard
	c.mu.Unlock()
	err := in.check()
	in.reserved = 0
	if err != nil {
		in.isReply() // which says what is wrong with it
		return
	}
	in.start()
}

// isCall has a message in doubt be a call.
func (in *incoming) isCall() {
	c := in.c
	c.mu.Lock()
	defer c.mu.Unlock()
	in.settled()
	c.responder.granter.CallReceived()
}

// isReply takes for a reply what was taken for a call, or was in doubt.
func (in *incoming) isReply() {
	c := in.c
	c.mu.Lock()
	if in.doubtful {
		in.settled()
	} else {
		c.responder.granter.WasNoCall()
	}
	if c.over {
		c.mu.Unlock()
	} else {
		r := in.recv
		in.recv = nil
		if k := c.caller.pending[in.header.XID]; k != nil && !k.fetching {
			k.loads, in.loads = append(k.loads, in.loads...), in.loads[:0] // its message, if it is here
		}
		c.caller.conclude(r, &in.header, message{}, nil, in.heard)
	}
	in.finish()
}

// settled notes that a message is in doubt no more; Conn.mu is held.
func (in *incoming) settled() {
	in.doubtful = false
	doubts, xid := in.c.draft.doubts, in.header.XID
	if doubts[xid]--; doubts[xid] == 0 {
		delete(doubts, xid)
	}
}
