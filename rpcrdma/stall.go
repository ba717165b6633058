package rpcrdma

import (
	"errors"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// ErrStalled: the peer has not done its part of a call for Config.PeerTimeout.
var ErrStalled = errors.New(
	"peer does not answer RDMA Reads, or does not take replies or read their chunks")

// stalls watches the calls that wait for the peer: for RDMA Reads of their arguments, for their
// reply to leave, or for the RDMA_DONE behind it. Such a call holds memory, and often a worker of
// the server, which a peer must not have for longer than PeerTimeout. Time is counted in ticks,
// while anything waits. Conn.mu guards it.
type stalls struct {
	running bool
	ended   bool
	waiting list.List[incoming] // by age
	now     int                 // in ticks
	conn    *Conn
	timer   *time.Timer
}

// stallTicks is the number of ticks that make a timeout.
const stallTicks = 4

func (s *stalls) tick() time.Duration { return s.conn.cfg.PeerTimeout / stallTicks }

// add notes that in waits for the peer.
func (s *stalls) add(in *incoming) {
	if s.ended {
		return
	}
	in.since = s.now
	s.waiting.Push(&in.stall, in)
	if s.running {
		return
	}
	s.running = true
	if s.timer == nil {
		s.timer = time.AfterFunc(s.tick(), s.ticked)
	} else {
		s.timer.Reset(s.tick())
	}
}

// remove notes that in waits no longer.
func (s *stalls) remove(in *incoming) {
	if in.stall.In() {
		s.waiting.Remove(&in.stall)
	}
}

// overdue returns the call that has waited for longest, if that is too long.
func (s *stalls) overdue() *incoming {
	if in := s.waiting.First(); in != nil && s.now-in.since > stallTicks {
		return in
	}
	return nil
}

// goOn has the next tick come, if there is anything to watch.
func (s *stalls) goOn() {
	if s.running = s.waiting.First() != nil; s.running {
		s.timer.Reset(s.tick())
	}
}

// stop ends the ticks: the connection has ended, and with it all that waits.
func (s *stalls) stop() {
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// ticked ends the connection if a call has waited for too long. The Draft may take the memory of
// its reply back instead.
func (s *stalls) ticked() {
	c := s.conn
	d := c.draft
	c.mu.Lock()
	s.now++
	var expired []*incoming
	stalled := false
	for in := s.overdue(); in != nil && !stalled; in = s.overdue() {
		if d == nil || !d.expire(in) {
			stalled = true
			continue
		}
		s.remove(in)
		expired = append(expired, in)
	}
	stalled = stalled || d != nil && d.exhausted()
	if stalled {
		s.running = false
	} else {
		s.goOn()
	}
	c.mu.Unlock()
	for _, in := range expired {
		d.expired(in)
	}
	if stalled {
		c.fail(ErrStalled)
	}
}
