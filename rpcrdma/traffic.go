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

// countCall adds a call of this side that is about to be posted: who sees the call sees it counted.
// If it cannot be posted, sign -1 takes it back.
func (l *link) countCall(i *CallInfo, sign int) {
	add(&l.stats.CallsSent, sign)
	add(&l.traffic.InlineSent, sign*i.InlineSent)
	add(&l.traffic.ReadChunkSent, sign*i.ReadChunk)
}

// ended adds the reply to a call of this side that has ended.
func (t *Traffic) ended(i *CallInfo) {
	add(&t.InlineReceived, i.InlineReceived)
	add(&t.ReadChunkReceived, i.ReplyRead)
	add(&t.WriteChunkReceived, i.WriteChunk)
	add(&t.ReplyChunkReceived, i.ReplyChunk)
}

// replyCount is what a reply adds to Traffic and Stats.
type replyCount struct{ inline, readChunk, writeChunk, replyChunk, errors int }

// countReply is countCall for a reply to the peer.
func (l *link) countReply(n replyCount, sign int) {
	t := &l.traffic
	add(&t.InlineSent, sign*n.inline)
	add(&t.ReplyChunkSent, sign*n.replyChunk)
	add(&t.WriteChunkSent, sign*n.writeChunk)
	add(&t.ReadChunkSent, sign*n.readChunk)
	add(&l.stats.ErrorsSent, sign*n.errors)
}

// add adds more to n, which may be negative. It does nothing for 0, because most messages travel in
// one way only.
func add(n *uint64, more int) {
	if more != 0 {
		atomic.AddUint64(n, uint64(more))
	}
}
