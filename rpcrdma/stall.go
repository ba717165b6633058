package rpcrdma

import (
	"errors"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// ErrStalled: the peer has not done its part of a call within Config.PeerTimeout.
var ErrStalled = errors.New(
	"peer does not answer RDMA Reads, or does not take replies or read their chunks")

// stalls watches the calls that wait for the peer. Such a call holds memory, and often a worker of
// the server. A peer may keep these for PeerTimeout, or longer while it does its part: as long as
// bytes move that the call waits for, or may wait behind, the peer is slow and not stalled. Time is
// counted in ticks, and only while a call waits. Conn.mu guards it.
type stalls struct {
	running bool
	ended   bool
	waiting list.List[incoming] // oldest first
	now     int                 // in ticks
	moved   [duties]moved
	conn    *Conn
	timer   *time.Timer
}

// duty is what a call waits for the peer to do.
type duty uint8

const (
	answerReads duty = iota // answer RDMA Reads
	takeReply               // take the reply, or let the invalidation of its windows pass
	sendDone                // send the RDMA_DONE
	duties
)

// moved is the count of bytes, and the time, when the peer was last seen to do its part.
type moved struct {
	bytes uint64
	tick  int
}

// stallTicks is the number of ticks in PeerTimeout.
const stallTicks = 4

// A peer does its part if it moves leastMoved bytes within PeerTimeout, and leastRate bytes for
// each second of it. A peer that takes a byte now and then does not.
const (
	leastMoved = 16 << 10
	leastRate  = 1 << 10
)

func (s *stalls) tick() time.Duration { return s.conn.cfg.PeerTimeout / stallTicks }

// add notes that in waits for the peer.
func (s *stalls) add(in *incoming, what duty) {
	if s.ended {
		return
	}
	in.since, in.awaits = s.now, what
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

// remove notes that in no longer waits.
func (s *stalls) remove(in *incoming) {
	if !in.stall.In() {
		return
	}
	s.waiting.Remove(&in.stall)
	if s.conn.progress == nil && in.awaits != sendDone {
		s.moved[in.awaits].tick = s.now // without reports, only completions show progress
	}
}

// look notes which bytes have moved since the last tick.
func (s *stalls) look() {
	if s.conn.progress == nil {
		return
	}
	enough := max(leastMoved, leastRate*uint64(s.conn.cfg.PeerTimeout/time.Second))
	p := s.conn.progress.Progress()
	for what, bytes := range [duties]uint64{
		answerReads: p.Read,
		// the reply completes after Reads that were posted before it
		takeReply: p.Sent + p.Read,
		// the peer reads the reply, and sends other messages ahead of the RDMA_DONE
		sendDone: p.Sent + p.Received,
	} {
		if m := &s.moved[what]; bytes-m.bytes >= enough {
			*m = moved{bytes, s.now}
		}
	}
}

// overdue returns the calls that have waited for too long.
func (s *stalls) overdue() (overdue []*incoming) {
	in := s.waiting.First()
	for ; in != nil && s.now-in.since > stallTicks; in = in.stall.Next() {
		if s.now-s.moved[in.awaits].tick > stallTicks {
			overdue = append(overdue, in)
		}
	}
	return overdue
}

// goOn sets the timer for the next tick, if any call waits.
func (s *stalls) goOn() {
	if s.running = s.waiting.First() != nil; s.running {
		s.timer.Reset(s.tick())
	}
}

// stop ends the ticks: the connection has ended.
func (s *stalls) stop() {
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// ticked ends the connection if a call has waited for too long. In the Draft it may take back the
// memory of its reply instead.
func (s *stalls) ticked() {
	c := s.conn
	d := c.draft
	c.mu.Lock()
	s.now++
	s.look()
	var expired []*incoming
	stalled := false
	for _, in := range s.overdue() {
		if d == nil || !d.expire(in) {
			stalled = true
			break
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
