package rpcrdma

import (
	"errors"
	"time"
)

// ErrStalled: the peer has not done its part of a call for Config.PeerTimeout.
var ErrStalled = errors.New("peer does not answer RDMA Reads, or does not take replies or read their chunks")

// stalls watches the calls that wait for the peer: for RDMA Reads of their arguments, for their reply to
// leave, or for the RDMA_DONE behind it. Such a call holds memory, and often a worker of the server, which a peer must not have for
// longer than PeerTimeout. Time is counted in ticks, while anything waits. Conn.mu guards it.
type stalls struct {
	first, last *incoming // by age
	now         int
	timer       *time.Timer
	running     bool
}

// stallTicks is the number of ticks that make a timeout.
const stallTicks = 4

// awaitPeer notes that in waits for the peer; c.mu is held.
func (c *Conn) awaitPeer(in *incoming) {
	if c.pending == nil {
		return // it ends anyway
	}
	s := &c.stalls
	in.waits, in.since, in.prev, in.next = true, s.now, s.last, nil
	if s.last != nil {
		s.last.next = in
	} else {
		s.first = in
	}
	s.last = in
	if s.running {
		return
	}
	s.running = true
	if tick := c.cfg.PeerTimeout / stallTicks; s.timer == nil {
		s.timer = time.AfterFunc(tick, c.tick)
	} else {
		s.timer.Reset(tick)
	}
}

// gotPeer notes that in waits no longer; c.mu is held.
func (c *Conn) gotPeer(in *incoming) {
	if !in.waits {
		return
	}
	s := &c.stalls
	if in.prev != nil {
		in.prev.next = in.next
	} else {
		s.first = in.next
	}
	if in.next != nil {
		in.next.prev = in.prev
	} else {
		s.last = in.prev
	}
	in.waits, in.prev, in.next = false, nil, nil
}

// tick ends the connection if a call has waited for too long. If it is a DONE that has not come, the memory of the reply is taken back
// instead: should the peer still want to read it, that will end the connection (draft section 3.8).
func (c *Conn) tick() {
	c.mu.Lock()
	s := &c.stalls
	s.now++
	var expired []*incoming
	stalled := false
	for s.first != nil && s.now-s.first.since > stallTicks {
		in := s.first
		if stalled = !in.owes || !in.sent; stalled {
			break
		}
		c.gotPeer(in)
		in.owes = false
		c.late++
		expired = append(expired, in)
	}
	if c.late >= c.cfg.Credits {
		stalled = true // no further reply could be read: each DONE has a receive of its own
	}
	s.running = s.first != nil && !stalled
	if s.running {
		s.timer.Reset(c.cfg.PeerTimeout / stallTicks)
	}
	c.mu.Unlock()
	for _, in := range expired {
		c.fault(&c.stats.donesMissed, "no RDMA_DONE for a reply: is the client set to the same dialect?", in.header.XID, ErrStalled)
		in.finish()
	}
	if stalled {
		c.fail(ErrStalled)
	}
}
