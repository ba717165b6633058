package rpcrdma

import "sync/atomic"

// Traffic counts the bytes of RPC messages by the way in which they travelled: calls and replies,
// in both directions, without padding.
type Traffic struct {
	InlineSent, InlineReceived uint64 // in Sends
	// ReadChunkSent was offered to the peer as read chunks. ReadChunkReceived was fetched from read
	// chunks of the peer.
	ReadChunkSent, ReadChunkReceived   uint64
	WriteChunkSent, WriteChunkReceived uint64 // in write chunks; in the Draft with the XDR round-up
	ReplyChunkSent, ReplyChunkReceived uint64 // in reply chunks
	Exposed                            uint64 // windows opened for the peer, a number
	// CreditWaits counts calls of this side that waited for a credit, or for receives
	// (Config.LimitBackwardCalls).
	CreditWaits uint64
}

type traffic struct {
	inlineSent, inlineReceived, readChunkSent, readChunkReceived,
	writeChunkSent, writeChunkReceived, replyChunkSent, replyChunkReceived,
	exposed, creditWaits atomic.Uint64
}

// Traffic returns the byte counts of the connection.
func (c *Conn) Traffic() Traffic {
	t := &c.traffic
	return Traffic{
		InlineSent:         t.inlineSent.Load(),
		InlineReceived:     t.inlineReceived.Load(),
		ReadChunkSent:      t.readChunkSent.Load(),
		ReadChunkReceived:  t.readChunkReceived.Load(),
		WriteChunkSent:     t.writeChunkSent.Load(),
		WriteChunkReceived: t.writeChunkReceived.Load(),
		ReplyChunkSent:     t.replyChunkSent.Load(),
		ReplyChunkReceived: t.replyChunkReceived.Load(),
		Exposed:            t.exposed.Load(),
		CreditWaits:        t.creditWaits.Load(),
	}
}

// countCall adds a call of this side that is about to be posted: who sees the call sees it counted.
// If it cannot be posted, sign -1 takes it back.
func (c *Conn) countCall(i *CallInfo, sign int) {
	add(&c.stats.callsSent, sign)
	add(&c.traffic.inlineSent, sign*i.InlineSent)
	add(&c.traffic.readChunkSent, sign*i.ReadChunk)
}

// ended adds the reply to a call of this side that has ended.
func (t *traffic) ended(i *CallInfo) {
	add(&t.inlineReceived, i.InlineReceived)
	add(&t.readChunkReceived, i.ReplyRead)
	add(&t.writeChunkReceived, i.WriteChunk)
	add(&t.replyChunkReceived, i.ReplyChunk)
}

// replyCount is what a reply adds to Traffic and Stats.
type replyCount struct{ inline, readChunk, writeChunk, replyChunk, errors int }

// count returns what the reply adds when it is posted.
func (r *reply) count() (n replyCount) {
	out := &r.header
	if out.Type == TypeError { // it has nothing else, whatever was laid out before
		return replyCount{errors: 1}
	}
	for _, p := range r.pieces {
		n.inline += len(p)
	}
	n.replyChunk, n.readChunk = int(out.Reply.Len()), int(r.read.pinned)
	for _, w := range out.Writes {
		n.writeChunk += int(w.Len())
	}
	return n
}

// countReply is countCall for a reply to the peer.
func (c *Conn) countReply(n replyCount, sign int) {
	t := &c.traffic
	add(&t.inlineSent, sign*n.inline)
	add(&t.replyChunkSent, sign*n.replyChunk)
	add(&t.writeChunkSent, sign*n.writeChunk)
	add(&t.readChunkSent, sign*n.readChunk)
	add(&c.stats.errorsSent, sign*n.errors)
}

// add adds more to n, which may be negative. It does nothing for 0, because most messages travel in
// one way only.
func add(n *atomic.Uint64, more int) {
	if more != 0 {
		n.Add(uint64(more))
	}
}
