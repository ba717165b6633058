package rpcrdma

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// flow accounts for what a connection may have under way: memory for chunks (the share of a
// budget), receives (supply), credits for the peer (granter), and the time that the peer may take
// (stalls).
//
// A call of the peer passes callArrived, admit, waits and goesOn for its RDMA Reads, grant or
// dropped, callEnded and release. A call of this side passes expectReply, arrived and put.
//
// docs/memory.md shows why no call waits for ever and how hosts take turns, docs/credits.md why
// messages find a receive and clients a credit, and draftpins.go why withheld replies are sent.
type flow struct {
	conn   *Conn
	memory *memory

	// Conn.mu guards these.
	stalls  stalls
	granter credits.Granter
	supply  supply

	share share // memory.chunks.mu guards it
}

// memory is the memory of connections. Those of one Serve share all of it, and those of Dial share
// the pool.
type memory struct {
	pool     *pool
	chunks   *budget
	receives *receiveBudget // nil: there is no limit
}

// open joins the shared memory. In a Dial the address of the peer is not known yet. It does not
// matter: the connections of Dial share no memory that has a limit.
func (f *flow) open(c *Conn, m *memory) error {
	f.conn, f.memory, f.stalls.conn = c, m, c
	f.granter = credits.NewGranter(c.cfg.Credits)
	host := peerhost.Of(c.info.RemoteAddr)
	if err := f.supply.open(c, m, host); err != nil {
		return err
	}
	m.chunks.join(&f.share, host, c.cfg.ConnMemory)
	return nil
}

// start posts the receive for the peer's first call (draft section 6.1).
func (f *flow) start() error {
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	_, err := f.supply.post(f.granter.Start())
	return err
}

// arrived notes that a message has used up r. The caller gives it back by put or repost. Conn.mu is
// held.
func (f *flow) arrived(r *receive) { f.supply.arrived(r) }

// callArrived is arrived for a call of the peer. callEnded gives the receive back.
func (f *flow) callArrived(r *receive) {
	f.supply.arrived(r)
	f.granter.CallReceived()
}

// repost replaces a receive that was used up by a message which was neither a call nor an expected
// reply. Conn.mu is held.
func (f *flow) repost(r *receive) { f.supply.repost(r) }

// put gives back the receive of a reply to a call of this side. Conn.mu is not held.
func (f *flow) put(r *receive) { f.supply.release(r) }

// wasNoCall undoes callArrived, except for the receive: the long message is a reply. Conn.mu is
// held.
func (f *flow) wasNoCall() { f.granter.WasNoCall() }

// wasCall notes that a message is a call of the peer after all; Conn.mu is held.
func (f *flow) wasCall() { f.granter.CallReceived() }

// doneArrived notes an RDMA_DONE that was owed, and gives back its receive; Conn.mu is held.
func (f *flow) doneArrived(r *receive) {
	f.granter.DoneReceived()
	f.supply.put(r)
}

// admit reserves the memory that a call needs. If it reports false, the call waits, and
// incoming.fetchMessage will be called later.
func (f *flow) admit(in *incoming) bool {
	if in.needs > 0 {
		return f.memory.chunks.reserve(&f.share, in)
	}
	d := f.conn.draft
	return d == nil || d.pins.admit(in)
}

// waits notes what a call waits for the peer to do, from now on.
func (f *flow) waits(in *incoming, what duty) {
	f.conn.mu.Lock()
	f.stalls.remove(in)
	f.stalls.add(in, what)
	f.conn.mu.Unlock()
}

// goesOn notes that the call no longer waits.
func (f *flow) goesOn(in *incoming) {
	f.conn.mu.Lock()
	f.stalls.remove(in)
	f.conn.mu.Unlock()
}

// grant accounts for a reply that is about to be sent, posts the receives for its grant, and writes
// the grant into the message. From then on the reply waits for the peer.
func (f *flow) grant(in *incoming) error {
	c := f.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	g := &f.granter
	if c.over {
		g.CallDropped()
		return c.err
	}
	posted, active, owed := g.State()
	terms := credits.ReplyTerms{Requested: in.header.Credits, Allow: c.cfg.Credits}
	if d := c.draft; d != nil {
		terms.Owes = in.reply.readByPeer()
		in.reply.read.owes = terms.Owes
		terms.Allow, terms.Withheld = d.pins.allow(active)
	} else {
		terms.Allow = f.memory.chunks.allow(&f.share, active, c.cfg.Credits)
	}
	if in.server == unavailable {
		terms.Allow = 1
	}
	terms.Allow = min(terms.Allow, int(min(in.header.Credits, 1<<30))) // no memory for more
	// what was granted, without this call
	room := posted + active - 1 - owed
	if more := terms.Allow - room; more > 0 {
		terms.Allow = room + f.supply.allow(more)
	}
	granted, n := g.Reply(terms)
	if posted, err := f.supply.post(n); err != nil {
		if granted = g.NotPosted(n - posted); granted == 0 {
			go c.fail(err)
			return err
		}
	}
	in.server.Granted(granted)
	if in.call != nil {
		in.call.Leaves()
	}
	// A peer that is granted less than it has under way posts no receives for the reply.
	if c.caller.limited && int(granted) >= active-1 {
		c.caller.window.ReplySent()
	}
	f.stalls.add(in, takeReply)
	binary.BigEndian.PutUint32(in.reply.sendList[0].Bytes[creditsOffset:], granted)
	return nil
}

// dropped notes a call that gets no reply. callEnded follows all the same.
func (f *flow) dropped() {
	f.conn.mu.Lock()
	f.granter.CallDropped()
	f.conn.mu.Unlock()
}

// callEnded takes back the receive of a call of the peer.
func (f *flow) callEnded(in *incoming) {
	f.conn.mu.Lock()
	f.stalls.remove(in)
	if in.recv != nil {
		f.supply.put(in.recv)
	}
	f.conn.mu.Unlock()
}

// release takes back the memory that a call had reserved and that its reply had pinned, some of it
// beyond the budget. Other calls continue with it.
func (f *flow) release(reserved, pinned, beyond int64) {
	if d := f.conn.draft; d != nil {
		d.pins.release(reserved, pinned, beyond)
	} else if reserved > 0 {
		f.memory.chunks.release(&f.share, reserved)
	}
}

// expectReply posts the receive for the reply to a call in the caller's table; Conn.mu is held.
func (f *flow) expectReply() error {
	_, err := f.supply.post(1)
	return err
}

// enlarge is Conn.EnlargeReceives.
func (f *flow) enlarge(n int) int {
	c := f.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	// The reply to the caller's next call uses up the first receive.
	spare := 0
	if _, active, _ := f.granter.State(); active == 0 && c.caller.pending.n == 0 {
		spare = 1
	}
	return f.supply.enlarge(n, spare)
}

// longest returns the length in bytes of the longest message that receives hold from now on.
func (f *flow) longest() int {
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	return f.supply.size
}

// close gives back everything except what calls still hold, after the provider has ended. It
// returns the replies that the peer has not read. Conn.mu is held.
func (f *flow) close() (unread []*incoming) {
	f.supply.close()
	f.stalls.stop()
	if d := f.conn.draft; d != nil {
		unread = d.unread()
	}
	return unread
}

// gone returns the calls that wait for memory and the withheld replies of a connection that has
// ended, and the calls that waited behind them, which go on.
func (f *flow) gone() (gone, next []*incoming) {
	b := f.memory.chunks
	b.mu.Lock()
	if d := f.conn.draft; d != nil {
		gone = d.pins.gone()
	}
	gone = append(gone, b.leave(&f.share)...)
	next = b.next()
	b.mu.Unlock()
	return gone, next
}
