package rpcrdma

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

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
func (p *pinnedReplies) awaitsDone(in *incoming, err error) bool {
	rd := &in.reply.read
	if rd.pinned == 0 {
		return false
	}
	l := p.rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	rd.sent = true
	rd.owes = rd.owes && !rd.acked && err == nil && !l.over
	if rd.owes { // the peer's time begins now, because the reply waited in our own queue
		p.rs.stalls.add(in, forDone)
		p.lend(in, 1)
	}
	return rd.owes
}

// done takes an RDMA_DONE for the reply with that XID: the peer has read its chunks (draft section
// 3.8).
func (p *pinnedReplies) done(r *memory.Receive, xid uint32) {
	l := p.rs.l
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return // the receive was given back with the others
	}
	l.receives.Arrived(r)
	in := p.owing(xid)
	if in == nil && p.late == 0 {
		atomic.AddUint64(&l.stats.DonesIgnored, 1)
		l.receives.Repost(r)
		l.mu.Unlock()
		return
	}
	l.granter.DoneReceived()
	l.receives.Put(r)
	finished := false
	if in == nil { // probably for a reply whose memory was taken back
		p.late--
		atomic.AddUint64(&l.stats.DonesIgnored, 1)
	} else {
		atomic.AddUint64(&l.stats.DonesReceived, 1)
		rd := &in.reply.read
		rd.acked = true
		// An RDMA_DONE may overtake the completion of the Send that it answers. Then the reply
		// still waits for that.
		if finished = rd.sent; finished {
			p.rs.stalls.remove(in)
			rd.owes = false
			p.lend(in, -1)
		}
	}
	p.dones--
	send, next := p.resume()
	l.mu.Unlock()
	sendAll(send)
	proceed(next)
	if finished {
		in.finish()
	}
}

// owing returns the oldest reply with that XID whose RDMA_DONE is still to come; Conn.mu is held.
func (p *pinnedReplies) owing(xid uint32) *incoming {
	for in := p.rs.stalls.waiting.First(); in != nil; in = in.stall.Next() {
		if rd := &in.reply.read; rd.owes && !rd.acked && in.header.XID == xid {
			return in
		}
	}
	return nil
}

// unread returns the replies whose RDMA_DONE will not come any more, because the connection has
// ended; Conn.mu is held.
func (p *pinnedReplies) unread() (unread []*incoming) {
	stalls := &p.rs.stalls
	for in := stalls.waiting.First(); in != nil; in = in.stall.Next() {
		if rd := &in.reply.read; rd.owes && rd.sent {
			unread = append(unread, in)
		}
	}
	for _, in := range unread {
		stalls.remove(in)
		in.reply.read.owes = false
		p.lend(in, -1)
	}
	return unread
}

// expire reports whether an overdue call waits for an RDMA_DONE. If so, it no longer does, and
// expired is to take back the memory of its reply. If the peer still reads that, the connection
// ends (draft section 3.8). Conn.mu is held.
func (p *pinnedReplies) expire(in *incoming) bool {
	rd := &in.reply.read
	if !rd.owes || !rd.sent {
		return false
	}
	rd.owes = false
	p.late++
	p.rs.stalls.remove(in)
	p.lend(in, -1)
	return true
}

// lend notes that the memory of one more reply can be recalled, or of one less; Conn.mu is held.
func (p *pinnedReplies) lend(in *incoming, n int) {
	p.rs.l.receives.Lend(n)
	if rd := &in.reply.read; in.reserved+rd.pinned > rd.beyond {
		p.rs.share.Lend(n)
	}
}

// recall takes back the memory of the oldest reply whose RDMA_DONE is still to come, because others
// wait for it. As at the end of its time, the connection ends if the peer still reads that.
func (p *pinnedReplies) recall() {
	l := p.rs.l
	l.mu.Lock()
	in := p.rs.stalls.waiting.First()
	for in != nil && !p.expire(in) {
		in = in.stall.Next()
	}
	if in != nil {
		in.reply.read.sent, in.reply.read.acked = false, false
	}
	l.mu.Unlock()
	if in == nil {
		return // its RDMA_DONE has come meanwhile
	}
	l.fault(&l.stats.DonesMissed, "others wait for the memory of a reply, and its RDMA_DONE is missing",
		in.header.XID, ErrStalled)
	l.ep.Revoke(in.reply.read.regions...) // at once, even if the peer takes nothing
	in.giveBack()
}

// exhausted reports whether too many RDMA_DONEs are missing for any further reply to be read, since
// each keeps a receive; Conn.mu is held.
func (p *pinnedReplies) exhausted() bool { return p.late >= p.rs.l.cfg.Credits }

// expired takes back the memory of a reply.
func (p *pinnedReplies) expired(in *incoming) {
	l := p.rs.l
	l.fault(&l.stats.DonesMissed,
		"no RDMA_DONE for a reply: is the client set to the same dialect?", in.header.XID, ErrStalled)
	in.finish()
}

// endWindows invalidates the windows of a reply, and then gives the call back. Until the request's
// turn comes, the call waits for the peer.
func (p *pinnedReplies) endWindows(in *incoming) {
	l, rd := p.rs.l, &in.reply.read
	l.mu.Lock()
	rd.owes, rd.sent, rd.acked = false, false, false
	p.rs.stalls.add(in, forReply)
	l.mu.Unlock()
	_, err := l.invalidate(&in.reply.chain, rd.regions, nil, (*replyWindowsEnded)(in))
	if err != nil {
		l.fail(err)
		l.whenEnded(rd.regions, in.giveBack)
	}
}

// release gives back the memory of copies for the peer. The windows have ended.
func (rd *readReply) release(p *memory.Pool) {
	for _, s := range rd.exposed {
		p.Put(s, transport.RemoteRead)
	}
	clear(rd.exposed)
	rd.exposed, rd.regions, rd.copies = rd.exposed[:0], rd.regions[:0], false
}

// replyWindowsEnded is the Completer of the invalidations of a reply.
type replyWindowsEnded incoming

// Complete gives the call back after the last invalidation.
func (e *replyWindowsEnded) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(e)
	l := in.l
	l.queue.Completed()
	switch {
	case !post.IsLast(wr):
	case err != nil:
		l.fail(err)
		l.whenEnded(in.reply.read.regions, in.giveBack)
	default:
		in.giveBack()
	}
}
