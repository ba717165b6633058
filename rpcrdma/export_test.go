package rpcrdma

import (
	"fmt"
	"slices"
)

// What follows lets tests outside the package compare the account of a connection with their own:
// that of its memory for receives, to the byte, and in TestPlayed all of it, after each step.

// awaited is the number of messages that the peer can still send, and those that have come and were
// not looked at; c.mu is held.
func (c *Conn) awaited() int {
	if c.flow.supply.shared == nil {
		return len(c.flow.supply.posted)
	}
	return c.flow.supply.promised + len(c.flow.supply.posted)
}

// ReceiveMemory returns how much of the budget of receives is free, how much there is, and how many
// connections wait.
func (c *Conn) ReceiveMemory() (free, size int64, queued int) {
	b := c.flow.supply.budget
	return b.free.Load(), b.size, int(b.queued.Load())
}

// ForceReceiveMemory reserves n bytes whatever is free, or gives them back.
func (c *Conn) ForceReceiveMemory(n int64) {
	if n < 0 {
		c.flow.supply.budget.release(&c.flow.supply.share, -n)
	} else {
		c.flow.supply.budget.force(&c.flow.supply.share, n)
	}
}

// ServerModel is what a client that is played by hand knows of its connection, for DiffersFrom.
type ServerModel struct {
	Sent                      int
	Received, Ignored, Missed uint64
	Under                     map[uint32]int // the bytes that each call reserves
	Live                      []int          // the bytes that each reply pins
	Late, Blocked, May        int
	Beside                    int64
	Other                     bool
}

// DiffersFrom returns what of the connection is not as p has it, or nothing.
func (c *Conn) DiffersFrom(p ServerModel) string {
	if c.draft == nil {
		return "the connection is not of the Draft"
	}
	b, m, pins := c.flow.memory.chunks, &c.flow.share, &c.draft.pins
	c.mu.Lock()
	defer c.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.err != nil || c.over {
		return fmt.Sprintf("the connection has ended: %v", c.err)
	}
	s := c.Stats()
	if got, want := []uint64{s.CallsReceived, s.DonesReceived, s.DonesIgnored, s.DonesMissed}, []uint64{uint64(p.Sent), p.Received, p.Ignored, p.Missed}; !slices.Equal(got, want) {
		return fmt.Sprintf("%v calls and RDMA_DONEs counted, want %v", got, want)
	}
	// Each call is in a handler, or has a reason to wait.
	free := c.cfg.ConnMemory
	waiting := make(map[uint32]bool)
	for _, q := range []*callQueue{&m.queue, &pins.unready} {
		for in := q.First(); in != nil; in = in.queued.Next() {
			waiting[in.header.XID] = true
		}
	}
	for xid, reserve := range p.Under {
		if !waiting[xid] {
			free -= int64(reserve)
		}
	}
	for _, size := range p.Live {
		free -= int64(size)
	}
	if len(p.Under) != p.Blocked+len(pins.withheld)+len(waiting) {
		return fmt.Sprintf("%d calls under way, %d in handlers, %d withheld, %d waiting", len(p.Under), p.Blocked, len(pins.withheld), len(waiting))
	}
	if len(pins.withheld) > 0 && len(p.Live) == 0 {
		return "a reply is withheld, and no RDMA_DONE will come"
	}
	if len(waiting) > 0 && free == c.cfg.ConnMemory && p.Beside == 0 {
		return "a call waits, and nothing is in use"
	}
	if pins.live != len(p.Live) || pins.dones != len(p.Live)+p.Late || c.draft.late != p.Late || m.queue.n+pins.unready.n != len(waiting) {
		return fmt.Sprintf("%d replies pinned, %d RDMA_DONEs owed, %d of them late, %d calls waiting, want %d, %d, %d", pins.live, pins.dones, c.draft.late, m.queue.n+pins.unready.n, len(p.Live), len(p.Live)+p.Late, len(waiting))
	}
	if m.free != free || m.host.has != c.cfg.ConnMemory-free+p.Beside {
		return fmt.Sprintf("%d bytes free, %d in use by the host, want %d and %d", m.free, m.host.has, free, c.cfg.ConnMemory-free+p.Beside)
	}
	if b.free < 0 || b.free < c.cfg.ServerMemory-m.host.has {
		return fmt.Sprintf("%d bytes of the server free, the host has %d", b.free, m.host.has)
	}
	if free < 0 && len(p.Live) > 1 {
		return fmt.Sprintf("%d bytes pinned beyond the share", -free)
	}
	if len(pins.withheld) > 0 && !p.Other && c.flow.supply.budget.size > 1<<20 && len(b.starved) == 0 && pins.dones < c.cfg.Credits && b.fits(m, pins.withheld[0].reply.read.pinned) {
		return "a reply is withheld without a reason"
	}
	for in := c.flow.stalls.waiting.First(); in != nil; in = in.stall.Next() {
		if rd := &in.reply.read; !rd.sent || !rd.owes {
			return "a Send is not complete"
		}
	}
	posted, active, owed := c.flow.granter.State()
	if active != len(p.Under) || owed != pins.dones || owed > c.cfg.Credits || posted != c.awaited() || posted > 2*c.cfg.Credits+2 || posted < owed+p.May {
		return fmt.Sprintf("%d receives of which %d are posted, for %d calls and %d RDMA_DONEs; %d calls are under way", posted, c.awaited(), p.May, owed, active)
	}
	a := &c.flow.supply
	if a.budget == nil {
		return ""
	}
	if spare := c.flow.supply.spare(); a.held != int64(len(p.Under)+len(p.Live))*c.flow.supply.receiveBytes() || a.held > 0 && spare < 0 || a.held == 0 && a.reserved != 0 {
		return fmt.Sprintf("%d bytes of messages held, %d reserved, %d to spare", a.held, a.reserved, spare)
	}
	return ""
}
