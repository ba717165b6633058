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
	CreditWaits                        uint64 // calls of this side that waited for a credit
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

// made adds a call of this side that has ended.
func (t *traffic) made(i *CallInfo) {
	add(&t.inlineSent, i.InlineSent)
	add(&t.inlineReceived, i.InlineReceived)
	add(&t.readChunkSent, i.ReadChunk)
	add(&t.readChunkReceived, i.ReplyRead)
	add(&t.writeChunkReceived, i.WriteChunk)
	add(&t.replyChunkReceived, i.ReplyChunk)
}

// replied adds a reply that is about to be sent.
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

// add adds more to n. It does nothing for 0, because most messages travel in one way only.
func add(n *atomic.Uint64, more int) {
	if more > 0 {
		n.Add(uint64(more))
	}
}
