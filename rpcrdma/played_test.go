package rpcrdma

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// rapidTB has failures be rapid's, which then looks for the shortest way there.
type rapidTB struct {
	testing.TB
	rt *rapid.T
}

func (t rapidTB) Cleanup(f func())             { t.rt.Cleanup(f) }
func (t rapidTB) Error(args ...any)            { t.rt.Error(args...) }
func (t rapidTB) Errorf(f string, args ...any) { t.rt.Errorf(f, args...) }
func (t rapidTB) Fatal(args ...any)            { t.rt.Fatal(args...) }
func (t rapidTB) Fatalf(f string, args ...any) { t.rt.Fatalf(f, args...) }

// played is a client of a real server, played by hand, and what it knows of the connection. It keeps to the grants, and to nothing else.
type played struct {
	*rawPeer
	r    *rig
	conn *Conn // the server's end
	lax  bool  // it does not count RDMA_DONEs that it has sent as requests

	granted int
	sent    int                    // calls
	under   map[uint32]*playedCall // not answered, by transaction id
	blocked int                    // of these, in handlers
	live    []pinnedReply          // in the order in which they came
	late    []uint32               // transaction ids of those whose memory was taken back
	dones   []int                  // of each RDMA_DONE that the server may not have taken: sent, as it was then

	other  *rawPeer // another client
	beside int64    // bytes that wait for that to read them

	received, ignored, missed uint64 // RDMA_DONEs
}

// playedCall is a call with an echo of read bytes, in a read chunk if these are many, and with a reply chunk of reserve bytes.
type playedCall struct {
	number        int
	block         bool
	read, reserve int
}

// pinnedReply is a reply that waits to be read.
type pinnedReply struct {
	xid  uint32
	size int
}

// newPlayed makes a server and its client, which takes 1024 bytes inline.
func newPlayed(t testing.TB, cfg Config) *played {
	cfg.Dialect, cfg.MaxMessage, cfg.PeerTimeout = Draft, MaxInline, time.Hour
	p := &played{r: newRig(t, cfg), granted: 1, under: make(map[uint32]*playedCall)}
	p.rawPeer = p.r.raw(private{Send: 4096, Recv: 1024})
	p.call(1, 1, playedCall{})
	p.conn = wait(t, p.r.program.conns)
	p.settle()
	return p
}

// may returns how many calls the client may send.
func (p *played) may() int {
	n := len(p.under) + len(p.live) + len(p.late)
	if !p.lax {
		n += len(p.dones)
	}
	if n == 0 {
		return max(1, p.granted)
	}
	return max(0, p.granted-n)
}

func (p *played) call(xid, asked uint32, k playedCall) {
	p.t.Helper()
	h := header(xid, TypeMsg)
	h.Credits = asked
	if k.reserve > 0 {
		h.SetReply([]chunks.Segment{p.expose(make([]byte, k.reserve), transport.RemoteWrite)})
	}
	var body []byte
	switch {
	case k.block && k.read > 0:
		body = callBytes(xid, procBlock, &items{data: [][]byte{pattern(0, k.read)}})
	case k.block:
		body = callBytes(xid, procBlock, &items{})
	case k.read > 0:
		body = callBytes(xid, procSource, &source{1, uint32(k.read)})
	default:
		body = callBytes(xid, procNull, nil)
	}
	p.sent++
	k.number = p.sent
	p.under[xid] = &k
	p.send(h, body)
}

// acknowledge sends an RDMA_DONE, and notes what the server has to make of it.
func (p *played) acknowledge(xid uint32) {
	p.t.Helper()
	i := slices.IndexFunc(p.live, func(r pinnedReply) bool { return r.xid == xid })
	switch {
	case i >= 0:
		p.live = slices.Delete(p.live, i, i+1)
		p.received++
		p.dones = append(p.dones, p.sent)
	case len(p.late) > 0:
		i := max(0, slices.Index(p.late, xid))
		p.late = slices.Delete(p.late, i, i+1)
		p.ignored++
		p.dones = append(p.dones, p.sent)
	default: // which the client had no reason to
		p.ignored++
	}
	p.done(xid)
}

// take takes the replies that have come.
func (p *played) take() {
	p.t.Helper()
	for len(p.msgs) > 0 {
		h, _ := p.next()
		k := p.under[h.XID]
		if k == nil || h.Type == TypeError || len(h.Reads) > 1 {
			p.t.Fatalf("answer %+v to %+v", h, k)
		}
		delete(p.under, h.XID)
		p.granted = int(h.Credits)
		p.dones = slices.DeleteFunc(p.dones, func(sent int) bool { return sent < k.number })
		if h.Credits == 0 && len(p.under) == 0 {
			p.t.Fatal("nothing is granted, and no reply is to come")
		}
		if len(h.Reads) > 0 {
			if got := p.read(h.Reads[0].Segment); !bytes.Equal(got, pattern(0, k.read)) {
				p.t.Fatal("the reply differs")
			}
			p.live = append(p.live, pinnedReply{h.XID, k.read})
		}
	}
}

// settle waits until the server has taken what was sent, and done what it can. Then all accounts must be right.
func (p *played) settle() {
	p.t.Helper()
	waitRight(p.t, func() (wrong string) {
		p.take()
		for len(p.r.program.entered) > 0 {
			<-p.r.program.entered
			p.blocked++
		}
		return p.wrong()
	})
}

// wrong returns what is not as it should be.
func (p *played) wrong() string {
	c := p.conn
	b, m := c.budget, &c.memory
	c.mu.Lock()
	defer c.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.err != nil || c.pending == nil {
		return fmt.Sprintf("the connection has ended: %v", c.err)
	}
	s := c.Stats()
	if got, want := []uint64{s.CallsReceived, s.DonesReceived, s.DonesIgnored, s.DonesMissed}, []uint64{uint64(p.sent), p.received, p.ignored, p.missed}; !slices.Equal(got, want) {
		return fmt.Sprintf("%v calls and RDMA_DONEs counted, want %v", got, want)
	}
	// Each call is in a handler, or waits for a reason.
	free := c.cfg.ConnMemory
	waiting := make(map[uint32]bool)
	for _, in := range b.waiting {
		waiting[in.header.XID] = true
	}
	for xid, k := range p.under {
		if !waiting[xid] {
			free -= int64(k.reserve)
		}
	}
	for _, r := range p.live {
		free -= int64(r.size)
	}
	if len(p.under) != p.blocked+len(m.withheld)+len(waiting) {
		return fmt.Sprintf("%d calls under way, %d in handlers, %d withheld, %d waiting", len(p.under), p.blocked, len(m.withheld), len(waiting))
	}
	if len(m.withheld) > 0 && len(p.live) == 0 {
		return "a reply is withheld, and no RDMA_DONE will come"
	}
	if len(waiting) > 0 && free == c.cfg.ConnMemory && p.beside == 0 {
		return "a call waits, and nothing is in use"
	}
	if m.pinned != len(p.live) || m.owed != len(p.live)+len(p.late) || c.late != len(p.late) || m.waiting != len(waiting) {
		return fmt.Sprintf("%d replies pinned, %d RDMA_DONEs owed, %d of them late, %d calls waiting, want %d, %d, %d", m.pinned, m.owed, c.late, m.waiting, len(p.live), len(p.live)+len(p.late), len(waiting))
	}
	if m.free != free || b.free != c.cfg.ServerMemory-c.cfg.ConnMemory+free-p.beside {
		return fmt.Sprintf("%d and %d bytes free, want %d and %d", m.free, b.free, free, c.cfg.ServerMemory-c.cfg.ConnMemory+free-p.beside)
	}
	if free < 0 && len(p.live) > 1 {
		return fmt.Sprintf("%d bytes pinned beyond the share", -free)
	}
	if len(m.withheld) > 0 && p.other == nil && c.supply.budget.size > 1<<20 && !b.starved && m.owed < c.cfg.Credits && m.withheld[0].pinned <= m.free {
		return "a reply is withheld without a reason"
	}
	for in := c.stalls.first; in != nil; in = in.next {
		if !in.sent || !in.owes {
			return "a Send is not complete"
		}
	}
	posted, active, owed := c.granter.State()
	if active != len(p.under) || owed != m.owed || owed > c.cfg.Credits || posted != c.awaited() || posted > 2*c.cfg.Credits+2 || posted < owed+p.may() {
		return fmt.Sprintf("%d receives of which %d are posted, for %d calls and %d RDMA_DONEs; %d calls are under way", posted, c.awaited(), p.may(), owed, active)
	}
	a := &c.supply
	if a.budget == nil {
		return ""
	}
	if spare := c.spare(); a.held != int64(len(p.under)+len(p.live))*c.receiveBytes() || a.held > 0 && spare < 0 || a.held == 0 && a.reserved != 0 {
		return fmt.Sprintf("%d bytes of messages held, %d reserved, %d to spare", a.held, a.reserved, spare)
	}
	return ""
}

// timeLimit has PeerTimeout pass, and reports whether the connection goes on.
func (p *played) timeLimit() bool {
	p.t.Helper()
	for _, r := range p.live {
		p.late = append(p.late, r.xid)
	}
	p.missed += uint64(len(p.live))
	p.live = nil
	pass(p.conn, stallTicks+1)
	return len(p.late) < p.conn.cfg.Credits
}

// finish answers and acknowledges everything.
func (p *played) finish() {
	p.t.Helper()
	p.settle()
	for len(p.under)+len(p.live) > 0 {
		switch {
		case p.blocked > 0:
			p.r.program.pass(p.t)
			p.blocked--
		case len(p.live) > 0:
			p.acknowledge(p.live[0].xid)
		default: // they wait for the other's
			p.otherDone()
		}
		p.settle()
	}
}

// otherAsks has the other client leave a reply to be read.
func (p *played) otherAsks() {
	p.t.Helper()
	if p.other == nil {
		p.other = p.r.raw(inline4k)
		p.other.alive()
	}
	p.other.source(1, 1, third)
	p.beside = third
}

// otherDone has it acknowledge that.
func (p *played) otherDone() {
	p.t.Helper()
	if p.beside == 0 {
		p.t.Fatal("calls wait for nothing")
	}
	p.other.done(1)
	p.beside = 0
}
