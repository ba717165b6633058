package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// layoutReads lays out a reply that fits neither inline nor in the reply chunk: bulk data for which there is no write chunk becomes read chunks, and if
// that does not suffice, so does what is left, at position zero (draft sections 3.8, 5.1). It reports false if that is
// not possible either.
func (in *incoming) layoutReads(s *Settings) bool {
	out, m := &in.out, &in.reply
	if s.PeerReads == 0 || m.Len() > in.c.cfg.MaxMessage {
		return false
	}
	for len(in.without) < len(m.Bulk) {
		in.without = append(in.without, false)
	}
	plan, err := chunks.PlanReply(m, in.without, out.Len(), in.c.limits(s))
	if err != nil {
		return false
	}
	in.reading = in.reading[:0]
	for i := range m.Bulk {
		read := !in.without[i] && m.Bulk[i].Len >= plan.ReadFrom
		in.reading = append(in.reading, read)
		in.without[i] = in.without[i] || read
	}
	in.pieces = m.AppendPieces(in.pieces[:0], in.without)
	if plan.Long { // the first entry (draft section 5.1)
		rest := 0
		for _, p := range in.pieces {
			rest += len(p)
		}
		out.Type = TypeNoMsg
		if !in.addRead(0, in.pieces, rest) {
			return false
		}
		in.pieces = in.pieces[:0]
	}
	for i, read := range in.reading {
		if it := &m.Bulk[i]; read && !in.addRead(it.Position, it.Data, it.Len) {
			return false
		}
	}
	return true
}

// addRead exposes data, n bytes, until the peer has read it, and adds it to the read list.
func (in *incoming) addRead(position int, data [][]byte, n int) bool {
	c := in.c
	list, ok := in.source(data, n)
	if !ok {
		return false
	}
	region, err := c.ep.Expose(list, transport.RemoteRead)
	if err != nil {
		return false
	}
	in.regions = append(in.regions, region)
	in.segs = chunks.Split(in.segs[:0], uint32(region.STag), region.Base, n, c.cfg.SegmentSize)
	for _, s := range in.segs {
		in.out.Reads = append(in.out.Reads, chunks.ReadSegment{Position: uint32(position), Segment: s})
	}
	in.pinned += int64(n)
	return true
}

// awaitsDone notes that the Send of a reply has ended, and reports whether an RDMA_DONE is still to come. After an error none
// will.
func (in *incoming) awaitsDone(err error) bool {
	c := in.c
	c.mu.Lock()
	defer c.mu.Unlock()
	in.sent = true
	in.owes = in.owes && !in.acked && err == nil && c.pending != nil
	return in.owes
}

// receivedDone takes an RDMA_DONE: the peer has read the chunks of a reply (draft section 3.8).
func (c *Conn) receivedDone(r *receive) {
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return // ended: the receive went with the others
	}
	c.arrived(r)
	in := c.owing(c.header.XID)
	if in == nil && c.late == 0 {
		c.stats.donesIgnored.Add(1)
		c.repost(r)
		c.mu.Unlock()
		return
	}
	c.granter.Done()
	c.pool.putReceive(r)
	finished := false
	if in == nil { // it comes for a reply whose memory was taken back, as far as one can tell
		c.late--
		c.stats.donesIgnored.Add(1)
	} else {
		c.stats.donesReceived.Add(1)
		in.acked = true
		// A DONE may overtake the completion of the Send that it answers, for which the reply still waits then.
		if finished = in.sent; finished {
			c.gotPeer(in)
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
	for in := c.stalls.first; in != nil; in = in.next {
		if in.owes && !in.acked && in.header.XID == xid {
			return in
		}
	}
	return nil
}

// takeOwed returns the replies for which no DONE will come any more, as the connection has ended; c.mu is held.
func (c *Conn) takeOwed() (owed []*incoming) {
	for in := c.stalls.first; in != nil; in = in.next {
		if in.owes && in.sent {
			owed = append(owed, in)
		}
	}
	for _, in := range owed {
		c.gotPeer(in)
		in.owes = false
	}
	return owed
}
