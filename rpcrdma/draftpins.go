package rpcrdma

import (
	"slices"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
)

// pins are the replies of a connection that the client is to read, until their RDMA_DONEs come.
// Their memory counts as the connection's, the host's and the server's in the budget, beyond the
// reservations of their calls.
//
// What is pinned waits for nothing but the peer, and that for a limited time. So a reply that finds
// others of its connection pinned may wait for them. It is withheld (draft section 11) while there
// is no room for it, while calls wait for memory, or while messages wait for receives: a pinned
// reply keeps the message of its call. While it is, no call of the connection starts, and grants go
// down to zero. A reply that finds none pinned is sent whatever is free: its memory was in use
// before. If it does not fit then, it counts as its host's, but takes nothing of what is free for
// others. So there is one such reply for each connection beyond the server's memory. A host that
// always leaves some unread, on many connections, may keep its own calls that need memory waiting
// for as long. It takes many hosts to do that to others: so many that one reply of each, or what
// they get as their shares, fills the server's memory.
//
// Each RDMA_DONE that may still come has a receive posted for it, also when its time has run out.
// So there are no more of them than credits: replies wait for the DONEs of others then, too.
//
// A withheld reply does not wait for ever. It waits for RDMA_DONEs of its own connection alone, and
// for the windows of their replies to end. Each of these comes, because its receive was posted
// before the reply left and the client needs no further credit to send it, and it is not held up,
// as a connection with a reply pinned is not idle; or its time runs out; or the connection ends. An
// RDMA_DONE that comes when its time has run out may be held up as any message: nothing waits for
// it but replies to further calls, which come behind it. A client that was granted nothing has the
// call under way whose reply is withheld, and that brings the next grant (section 11).
type pins struct {
	flow *flow
	live int // replies that are pinned
	// RDMA_DONEs to come, for these and for replies whose memory was taken back
	dones    int
	withheld []*incoming // replies, in order
	unready  callQueue   // calls that need no memory, and wait for the replies that are withheld
	ended    bool        // the connection: nothing is withheld any more, as nothing would send it
}

// admit reports whether a call that needs no memory may start. It waits for the replies that are
// withheld: it would only make another one.
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

// pin counts a reply with a read list as one that the peer is to read, or withholds it and reports
// false.
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

// pinnable reports whether a reply can leave; budget.mu is held.
func (p *pins) pinnable(in *incoming) bool {
	f := p.flow
	if p.ended {
		return true
	}
	if p.dones >= f.conn.cfg.Credits {
		return false // each has a receive of its own
	}
	// What calls wait for is not to be taken from them again and again.
	b, s := f.memory.chunks, &f.share
	return p.live == 0 || b.fits(s, in.reply.read.pinned) && !b.behind(s) && !f.supply.scarce()
}

// charge counts a reply that leaves; budget.mu is held.
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

// release takes back what a call had reserved, and its reply pinned.
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

// resume has the calls go on that can, and sends the withheld replies that can leave now;
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
	for _, in := range next {
		in.fetchMessage()
	}
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

// allow returns the credits that the memory suggests to grant, as budget.allow does: none while a
// reply is withheld, which it tells.
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

// gone returns the calls and replies of a connection that has ended which wait here; budget.mu is
// held.
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
