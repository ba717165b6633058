package rpcrdma

import "sync/atomic"

// Traffic says how the RPC messages of a connection travelled, calls and replies of both
// directions. Sizes are in bytes, and without what is padding alone.
type Traffic struct {
	InlineSent, InlineReceived uint64 // in Sends
	// ReadChunkSent was offered as read chunks, for the peer to fetch. ReadChunkReceived was
	// fetched from those of the peer.
	ReadChunkSent, ReadChunkReceived   uint64
	WriteChunkSent, WriteChunkReceived uint64 // to write chunks; in the Draft with their round-up
	ReplyChunkSent, ReplyChunkReceived uint64 // to reply chunks
	Exposed                            uint64 // windows over memory that the peer could reach
	CreditWaits                        uint64 // calls of this side that waited for a credit
}

type traffic struct {
	inlineSent, inlineReceived, readChunkSent, readChunkReceived,
	writeChunkSent, writeChunkReceived, replyChunkSent, replyChunkReceived,
	exposed, creditWaits atomic.Uint64
}

// Traffic returns what has travelled over the connection.
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

// made adds a call of this side, which has ended.
func (t *traffic) made(i *CallInfo) {
	add(&t.inlineSent, i.InlineSent)
	add(&t.inlineReceived, i.InlineReceived)
	add(&t.readChunkSent, i.ReadChunk)
	add(&t.readChunkReceived, i.ReplyRead)
	add(&t.writeChunkReceived, i.WriteChunk)
	add(&t.replyChunkReceived, i.ReplyChunk)
}

// replied adds the reply to a call of the peer's, which is about to be sent.
func (t *traffic) replied(r *reply) {
	out := &r.header
	inline := 0
	for _, p := range r.pieces {
		inline += len(p)
	}
	add(&t.inlineSent, inline)
	if len(out.Reply) > 0 {
		add(&t.replyChunkSent, int(out.Reply.Len()))
	}
	for _, w := range out.Writes {
		add(&t.writeChunkSent, int(w.Len()))
	}
	add(&t.readChunkSent, int(r.read.pinned))
}

// add adds what there is: most messages travel in one way.
func add(n *atomic.Uint64, more int) {
	if more > 0 {
		n.Add(uint64(more))
	}
}
