package rpcrdma

import (
	"slices"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
)

// pins are the pinned replies of a connection: those that the client reads, until their RDMA_DONEs
// come. Their memory counts in the budget for the connection, the host and the server, in addition
// to what their calls have reserved.
//
// A reply may be withheld (draft section 11) while others of its connection are pinned. That
// happens if it does not fit, if calls wait for memory, or if messages wait for receives, since a
// pinned reply keeps the message of its call. While a reply is withheld, no call of the connection
// starts, and grants go down to zero.
//
// A reply is sent in any case if no other of its connection is pinned, because its memory was in
// use before. If it does not fit then, it counts for its host, but takes nothing that is free for
// others. So each connection may have one such reply beyond the server's memory. A host that leaves
// replies unread on many connections delays its own calls. Only very many such hosts delay others:
// their shares, or one reply of each, must fill the server's memory.
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
type pins struct {
	flow     *flow
	live     int         // replies that are pinned
	dones    int         // RDMA_DONEs to come, also for replies whose memory was taken back
	withheld []*incoming // withheld replies, in order
	unready  callQueue   // calls that need no memory, and wait for the withheld replies
	ended    bool        // the connection has ended, and nothing is withheld any more
}

// admit reports whether a call that needs no memory may start. While replies are withheld it may
// not, because its reply would be withheld, too.
func (p *pins) admit(in *incoming) bool {
	b := p.flow.memory.chunks
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p.withheld) == 0 {
		return true
	}
	p.unready.push(in)
	return false
}

// pin pins a reply with a read list, or withholds it and reports false.
func (p *pins) pin(in *incoming) bool {
	f := p.flow
	f.memory.chunks.mu.Lock()
	defer f.memory.chunks.mu.Unlock()
	if len(p.withheld) > 0 || !p.pinnable(in) {
		p.withheld = append(p.withheld, in)
		f.share.blocked = true
		f.memory.chunks.update(&f.share)
		return false
	}
	p.charge(in)
	return true
}

// pinnable reports whether a reply may leave; budget.mu is held.
func (p *pins) pinnable(in *incoming) bool {
	f := p.flow
	if p.ended {
		return true
	}
	if p.dones >= f.conn.cfg.Credits {
		return false // each keeps a receive
	}
	// Do not take what calls wait for.
	b, s := f.memory.chunks, &f.share
	return p.live == 0 || b.fits(s, in.reply.read.pinned) && !b.behind(s) && !f.supply.scarce()
}

// charge accounts for a reply that leaves; budget.mu is held.
func (p *pins) charge(in *incoming) {
	p.live++
	p.dones++
	b, s, rd := p.flow.memory.chunks, &p.flow.share, &in.reply.read
	if !fair.Fits(b.free, s.host.has, rd.pinned) {
		rd.beyond = rd.pinned
		b.free += rd.beyond
	}
	b.charge(s, rd.pinned)
}

// release takes back what a call had reserved and what its reply had pinned.
func (p *pins) release(reserved, pinned, beyond int64) {
	if reserved == 0 && pinned == 0 {
		return
	}
	f := p.flow
	f.memory.chunks.mu.Lock()
	f.memory.chunks.free -= beyond
	f.memory.chunks.charge(&f.share, -reserved-pinned)
	if pinned > 0 {
		p.live--
	}
	p.resume()
}

// doneCame notes an RDMA_DONE that was owed.
func (p *pins) doneCame() {
	b := p.flow.memory.chunks
	b.mu.Lock()
	if p.dones--; len(p.withheld) == 0 {
		b.mu.Unlock()
		return
	}
	p.resume()
}

// resume continues with calls that fit now, and sends withheld replies that may leave now.
// budget.mu is held, and is unlocked on return.
func (p *pins) resume() {
	f := p.flow
	b := f.memory.chunks
	next := b.next()
	var send []*incoming
	for len(p.withheld) > 0 && p.pinnable(p.withheld[0]) {
		in := p.withheld[0]
		p.withheld = slices.Delete(p.withheld, 0, 1)
		p.charge(in)
		send = append(send, in)
	}
	if f.share.blocked && len(p.withheld) == 0 {
		next = append(next, p.unblock()...)
	}
	b.mu.Unlock()
	for _, in := range send {
		in.reply.send()
	}
	proceed(next)
}

// unblock takes the calls that waited behind withheld replies out of the queues; budget.mu is held.
func (p *pins) unblock() (next []*incoming) {
	f := p.flow
	f.share.blocked = false
	f.memory.chunks.update(&f.share)
	for p.unready.n > 0 {
		next = append(next, p.unready.pop())
	}
	return append(next, f.memory.chunks.next()...)
}

// allow returns how many credits to grant, like budget.allow. It returns 0 and true while a reply
// is withheld.
func (p *pins) allow(active int) (n int, withheld bool) {
	f := p.flow
	f.memory.chunks.mu.Lock()
	defer f.memory.chunks.mu.Unlock()
	waiting := f.share.queue.n + p.unready.n
	switch {
	case len(p.withheld) > 0:
		return 0, true
	case waiting > 0 || f.share.host.waits():
		return active - waiting, false
	}
	return f.conn.cfg.Credits, false
}

// gone returns the waiting calls and replies of a connection that has ended; budget.mu is held.
func (p *pins) gone() (gone []*incoming) {
	p.ended, p.flow.share.blocked = true, false
	for p.unready.n > 0 {
		gone = append(gone, p.unready.pop())
	}
	for _, in := range p.withheld {
		in.reply.read.pinned = 0
		gone = append(gone, in)
	}
	p.withheld = nil
	return gone
}
