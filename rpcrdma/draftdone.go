package rpcrdma

import "github.com/rpcrdma/go-rpcrdma/transport"

// readReply is the part of a reply that the client will read. It is kept until the RDMA_DONE.
type readReply struct {
	pinned  int64              // bytes that the client will read, counted in the budget
	beyond  int64              // how many of these exceed the budget
	regions []transport.Region // the windows over these bytes
	items   []bool             // for each item of bulk data: whether the client will read it
	exposed []transport.Slice  // memory of the pool with copies of what the client will read
	copies  bool               // copy, because scattered memory takes too many windows

	// Conn.mu guards what follows.
	owes  bool // the client owes an RDMA_DONE
	sent  bool // the Send is complete
	acked bool // the RDMA_DONE has come
}

// awaitsDone notes that the Send of a reply has ended, and reports whether its RDMA_DONE is still
// to come. After an error none will.
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
	if rd.owes { // the peer's time begins now, because the reply waited in our own queue
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
		return // the receive was given back with the others
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
	if in == nil { // probably for a reply whose memory was taken back
		d.late--
		c.stats.donesIgnored.Add(1)
	} else {
		c.stats.donesReceived.Add(1)
		rd := &in.reply.read
		rd.acked = true
		// An RDMA_DONE may overtake the completion of the Send that it answers. Then the reply
		// still waits for that.
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

// owing returns the oldest reply with that XID whose RDMA_DONE is still to come; Conn.mu is held.
func (d *draft) owing(xid uint32) *incoming {
	for in := d.conn.flow.stalls.waiting.First(); in != nil; in = in.stall.Next() {
		if rd := &in.reply.read; rd.owes && !rd.acked && in.header.XID == xid {
			return in
		}
	}
	return nil
}

// unread is called when the connection has ended, with Conn.mu held. It returns the replies whose
// RDMA_DONE will not come any more, and the messages in doubt that will not be fetched.
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

// expire reports whether an overdue call waits for an RDMA_DONE. If so, the memory of its reply
// will be taken back. If the peer still reads it, that ends the connection (draft section 3.8).
// Conn.mu is held.
func (d *draft) expire(in *incoming) bool {
	rd := &in.reply.read
	if !rd.owes || !rd.sent {
		return false
	}
	rd.owes = false
	d.late++
	return true
}

// exhausted reports whether too many RDMA_DONEs are missing for any further reply to be read, since
// each keeps a receive; Conn.mu is held.
func (d *draft) exhausted() bool { return d.late >= d.conn.cfg.Credits }

// expired takes back the memory of a reply.
func (d *draft) expired(in *incoming) {
	c := d.conn
	c.fault(&c.stats.donesMissed,
		"no RDMA_DONE for a reply: is the client set to the same dialect?", in.header.XID, ErrStalled)
	in.finish()
}

// endWindows invalidates the windows of a reply, and then gives the call back. Until the request's
// turn comes, the call waits for the peer.
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

// release gives back the memory of copies for the peer. The windows have ended.
func (rd *readReply) release(p *pool) {
	for _, s := range rd.exposed {
		p.put(s, transport.RemoteRead)
	}
	clear(rd.exposed)
	rd.exposed, rd.regions, rd.copies = rd.exposed[:0], rd.regions[:0], false
}

// replyWindowsEnded is the Completer of the invalidations of a reply.
type replyWindowsEnded incoming

// Complete gives the call back after the last invalidation.
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
