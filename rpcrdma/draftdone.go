package rpcrdma

import "github.com/rpcrdma/go-rpcrdma/transport"

// readReply is what there is of a reply that the client is to read, until its RDMA_DONE.
type readReply struct {
	pinned  int64              // bytes that the client is to read, counted in the budget
	beyond  int64              // bytes of these that were not free
	regions []transport.Region // the windows over these
	items   []bool             // by item of bulk data: it is to be read
	exposed []transport.Slice  // memory of the pool that holds copies of what is to be read
	// scattered memory would take too many windows: what is read is copied
	copies bool

	// Conn.mu guards what follows.
	owes  bool // the client owes an RDMA_DONE
	sent  bool // the Send is complete
	acked bool // the DONE has come
}

// awaitsDone notes that the Send of a reply has ended, and reports whether an RDMA_DONE is still to
// come. After an error none will.
func (d *draft) awaitsDone(in *incoming, err error) bool {
	rd := &in.reply.read
	if rd.pinned == 0 {
		return false
	}
	c := d.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	rd.sent = true
	rd.owes = rd.owes && !rd.acked && err == nil && !c.over
	if rd.owes { // from now on: the time in our own queue was not the peer's
		c.flow.stalls.remove(in)
		c.flow.stalls.add(in, sendDone)
	}
	return rd.owes
}

// done takes an RDMA_DONE: the peer has read the chunks of a reply (draft section 3.8).
func (d *draft) done(r *receive, xid uint32) {
	c := d.conn
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return // the receive went with the others
	}
	c.flow.arrived(r)
	in := d.owing(xid)
	if in == nil && d.late == 0 {
		c.stats.donesIgnored.Add(1)
		c.flow.repost(r)
		c.mu.Unlock()
		return
	}
	c.flow.doneArrived(r)
	finished := false
	if in == nil { // it comes for a reply whose memory was taken back, as far as one can tell
		d.late--
		c.stats.donesIgnored.Add(1)
	} else {
		c.stats.donesReceived.Add(1)
		rd := &in.reply.read
		rd.acked = true
		// A DONE may overtake the completion of the Send that it answers, for which the reply
		// still waits then.
		if finished = rd.sent; finished {
			c.flow.stalls.remove(in)
			rd.owes = false
		}
	}
	c.mu.Unlock()
	d.pins.doneCame()
	if finished {
		in.finish()
	}
}

// owing returns the oldest reply with that transaction id for which a DONE is still to come; c.mu
// is held.
func (d *draft) owing(xid uint32) *incoming {
	for in := d.conn.flow.stalls.waiting.First(); in != nil; in = in.stall.Next() {
		if rd := &in.reply.read; rd.owes && !rd.acked && in.header.XID == xid {
			return in
		}
	}
	return nil
}

// unread returns the replies for which no DONE will come any more, and the messages in doubt that
// will not be fetched, as the connection has ended; c.mu is held.
func (d *draft) unread() (unread []*incoming) {
	stalls := &d.conn.flow.stalls
	for in := stalls.waiting.First(); in != nil; in = in.stall.Next() {
		if rd := &in.reply.read; rd.owes && rd.sent {
			unread = append(unread, in)
		}
	}
	for _, in := range unread {
		stalls.remove(in)
		in.reply.read.owes = false
	}
	unread, d.inDoubt = append(unread, d.inDoubt...), nil
	return unread
}

// expire reports whether a call that has waited for too long waits for an RDMA_DONE. Then the
// memory of its reply is taken back: should the peer still want to read it, that will end the
// connection (draft section 3.8). c.mu is held.
func (d *draft) expire(in *incoming) bool {
	rd := &in.reply.read
	if !rd.owes || !rd.sent {
		return false
	}
	rd.owes = false
	d.late++
	return true
}

// exhausted reports whether no further reply could be read: each DONE has a receive of its own;
// c.mu is held.
func (d *draft) exhausted() bool { return d.late >= d.conn.cfg.Credits }

// expired takes the memory of a reply back.
func (d *draft) expired(in *incoming) {
	c := d.conn
	c.fault(&c.stats.donesMissed,
		"no RDMA_DONE for a reply: is the client set to the same dialect?", in.header.XID, ErrStalled)
	in.finish()
}

// endWindows ends the windows of a reply, and gives the call back then. Until that has come to its
// turn the call waits for the peer.
func (d *draft) endWindows(in *incoming) {
	c, rd := d.conn, &in.reply.read
	c.mu.Lock()
	rd.owes, rd.sent, rd.acked = false, false, false
	c.flow.stalls.remove(in)
	c.flow.stalls.add(in, takeReply)
	c.mu.Unlock()
	if _, err := c.invalidate(&in.reply.chain, rd.regions, nil, (*replyWindowsEnded)(in)); err != nil {
		c.fail(err)
		c.whenEnded(rd.regions, in.giveBack)
	}
}

// release gives back what held the copies that the peer was to read. The windows have ended.
func (rd *readReply) release(p *pool) {
	for _, s := range rd.exposed {
		p.put(s, transport.RemoteRead)
	}
	clear(rd.exposed)
	rd.exposed, rd.regions, rd.copies = rd.exposed[:0], rd.regions[:0], false
}

// replyWindowsEnded is told that the windows of a reply have ended.
type replyWindowsEnded incoming

// Complete gives the call back when the last of them has.
func (e *replyWindowsEnded) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(e)
	c := in.c
	c.queue.completed()
	switch {
	case !isLast(wr):
	case err != nil:
		c.fail(err)
		c.whenEnded(in.reply.read.regions, in.giveBack)
	default:
		in.giveBack()
	}
}
