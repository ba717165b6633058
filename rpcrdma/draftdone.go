package rpcrdma

// awaitsDone notes that the Send of a reply has ended, and reports whether an RDMA_DONE is still to come. After an error none
// will.
func (in *incoming) awaitsDone(err error) bool {
	c := in.c
	c.mu.Lock()
	defer c.mu.Unlock()
	in.sent = true
	in.owes = in.owes && !in.acked && err == nil && !c.over
	return in.owes
}

// takeDone takes an RDMA_DONE: the peer has read the chunks of a reply (draft section 3.8).
func (rx *receiver) takeDone(r *receive) {
	c := rx.conn
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return // ended: the receive went with the others
	}
	c.supply.arrived(r)
	in := c.owing(rx.header.XID)
	if in == nil && c.draft.late == 0 {
		c.stats.donesIgnored.Add(1)
		c.supply.repost(r)
		c.mu.Unlock()
		return
	}
	c.responder.granter.DoneReceived()
	c.supply.put(r)
	finished := false
	if in == nil { // it comes for a reply whose memory was taken back, as far as one can tell
		c.draft.late--
		c.stats.donesIgnored.Add(1)
	} else {
		c.stats.donesReceived.Add(1)
		in.acked = true
		// A DONE may overtake the completion of the Send that it answers, for which the reply still waits then.
		if finished = in.sent; finished {
			c.stalls.remove(in)
			in.owes = false
		}
	}
	c.mu.Unlock()
	c.budget.done(c)
	if finished {
		in.finish()
	}
}

// owing returns the oldest reply with that transaction id for which a DONE is still to come; c.mu is held.
func (c *Conn) owing(xid uint32) *incoming {
	for p := c.stalls.waiting.first; p != nil; p = p.next {
		if in := p.of; in.owes && !in.acked && in.header.XID == xid {
			return in
		}
	}
	return nil
}

// takeOwed returns the replies for which no DONE will come any more, as the connection has ended; c.mu is held.
func (c *Conn) takeOwed() (owed []*incoming) {
	for p := c.stalls.waiting.first; p != nil; p = p.next {
		if in := p.of; in.owes && in.sent {
			owed = append(owed, in)
		}
	}
	for _, in := range owed {
		c.stalls.remove(in)
		in.owes = false
	}
	return owed
}
