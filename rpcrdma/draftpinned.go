package rpcrdma

import "slices"

// pinnedReplies are the replies of a connection that the client reads, until their RDMA_DONEs come.
// Their memory counts in the budget for the connection, the host and the server, in addition to
// what their calls have reserved.
//
// A reply may be withheld (draft section 11) while others of its connection are pinned. That
// happens if it does not fit, if calls wait for memory, or if messages wait for receives, since a
// pinned reply keeps the message of its call. While a reply is withheld, no call of the connection
// starts, and grants go down to zero.
//
// A reply is sent in any case if no other of its connection is pinned, because its memory was in
// use before. If it does not fit then, it counts for its host, but takes nothing that is free for
// others. So each connection may have one such reply beyond the server's memory. A host that leaves
// replies unread on many connections delays its own calls. It delays no others: while these wait,
// the hosts with the most give pinned replies back early (recall).
//
// Each RDMA_DONE that may still come has a posted receive, even after its time has run out. So no
// more of them than credits may be missing; further replies are withheld.
//
// A withheld reply waits only for RDMA_DONEs of its own connection, and for the windows of their
// replies to end. That does not take for ever:
//
//   - The client can send each RDMA_DONE: its receive was posted before the reply left, and it
//     needs no further credit. It is not held up, because a connection with a pinned reply is not
//     idle.
//   - If it does not come, its time runs out, or the connection ends. Late RDMA_DONEs may be held
//     up, but only replies to later calls wait for these.
//   - A client that was granted nothing has the call under way whose reply is withheld. That reply
//     brings the next grant.
type pinnedReplies struct {
	rs *responder

	// Conn.mu guards what follows.
	live     int         // replies that are pinned
	dones    int         // RDMA_DONEs to come, also for replies whose memory was taken back
	late     int         // how many of these did not come in time
	withheld []*incoming // withheld replies, in order
}

// withholds reports whether replies are withheld. Then no call may start, even if it needs no
// memory, because its reply would be withheld, too.
func (p *pinnedReplies) withholds() bool {
	p.rs.l.mu.Lock()
	defer p.rs.l.mu.Unlock()
	return p.withheldNow()
}

// withheldNow is withholds with Conn.mu held.
func (p *pinnedReplies) withheldNow() bool { return len(p.withheld) > 0 }

// pin pins a reply with a read list, or withholds it and reports false.
func (p *pinnedReplies) pin(in *incoming) bool {
	var next []*incoming
	p.rs.l.mu.Lock()
	may := !p.withheldNow() && p.take(in)
	if !may {
		p.withheld = append(p.withheld, in)
		next = p.rs.share.Block(true)
	}
	p.rs.l.mu.Unlock()
	proceed(next)
	return may
}

// take accounts for a reply if it may leave, and reports whether it may; Conn.mu is held.
func (p *pinnedReplies) take(in *incoming) bool {
	rs, rd := p.rs, &in.reply.read
	switch {
	case rs.l.over: // nothing is withheld any more
	case p.dones >= rs.l.cfg.Credits:
		return false // each keeps a receive
	case p.live > 0 && (rs.l.receives.Scarce() || !rs.share.Fits(rd.pinned)):
		return false // others wait for that
	}
	rd.beyond = rs.share.Exceed(rd.pinned)
	p.live++
	p.dones++
	return true
}

// release takes back the memory that a call had reserved and that its reply had pinned, some of it
// beyond the budget. What waited for it goes on.
func (p *pinnedReplies) release(reserved, pinned, beyond int64) {
	next := p.rs.share.Release(reserved+pinned, beyond)
	p.rs.l.mu.Lock()
	if pinned > 0 {
		p.live--
	}
	send, more := p.resume()
	p.rs.l.mu.Unlock()
	sendAll(send)
	proceed(append(next, more...))
}

// resume returns the withheld replies that may leave now, and the calls that waited behind them;
// Conn.mu is held. They go on when it is free.
func (p *pinnedReplies) resume() (send, next []*incoming) {
	if !p.withheldNow() {
		return nil, nil
	}
	for p.withheldNow() && p.take(p.withheld[0]) {
		send = append(send, p.withheld[0])
		p.withheld = slices.Delete(p.withheld, 0, 1)
	}
	if !p.withheldNow() {
		next = p.rs.share.Block(false)
	}
	return send, next
}

// sendAll sends replies that were withheld.
func sendAll(withheld []*incoming) {
	for _, in := range withheld {
		in.reply.send()
	}
}

// close returns the replies that were withheld when the connection ended; Conn.mu is held.
func (p *pinnedReplies) close() (withheld []*incoming) {
	withheld, p.withheld = p.withheld, nil
	for _, in := range withheld {
		in.reply.read.pinned = 0
	}
	return withheld
}
