package rpcrdma

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// stalls finds calls that wait for the peer for too long. Such a call holds memory, and often a
// worker of the server. A peer may keep these for the timeout, or longer while it does its part: as
// long as bytes move that the call waits for, or may wait behind, the peer is slow and not stalled.
// Time is counted in ticks, and only while a call waits. Conn.mu guards it.
type stalls struct {
	timeout  time.Duration              // Config.PeerTimeout
	progress transport.ProgressReporter // nil if the provider is none
	ticked   func()                     // called for each tick, without the lock
	running  bool
	ended    bool
	waiting  list.List[incoming] // oldest first
	now      int                 // in ticks
	moved    [waitingFors]moved
	timer    *time.Timer
}

// waitingFor is what a call waits for the peer to do.
type waitingFor uint8

const (
	forReads waitingFor = iota // answer RDMA Reads
	forReply                   // take the reply, or let the invalidation of its windows pass
	forDone                    // send the RDMA_DONE
	waitingFors
)

// moved is the count of bytes, and the time, when the peer was last seen to do its part.
type moved struct {
	bytes uint64
	tick  int
}

// stallTicks is the number of ticks in the timeout.
const stallTicks = 4

// A peer does its part if it moves leastMoved bytes within the timeout, and leastRate bytes for
// each second of it. A peer that takes a byte now and then does not.
const (
	leastMoved = 16 << 10
	leastRate  = 1 << 10
)

func (s *stalls) tick() time.Duration { return s.timeout / stallTicks }

// add notes that in waits for the peer from now on, and for what.
func (s *stalls) add(in *incoming, what waitingFor) {
	s.remove(in)
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
	if s.progress == nil && in.awaits != forDone {
		s.moved[in.awaits].tick = s.now // without reports, only completions show progress
	}
}

// look goes on to the next tick, and notes which bytes have moved since the last one.
func (s *stalls) look() {
	s.now++
	if s.progress == nil {
		return
	}
	enough := max(leastMoved, leastRate*uint64(s.timeout/time.Second))
	p := s.progress.Progress()
	for what, bytes := range [waitingFors]uint64{
		forReads: p.Read,
		// the reply completes after Reads that were posted before it
		forReply: p.Sent + p.Read,
		// the peer reads the reply, and sends other messages ahead of the RDMA_DONE
		forDone: p.Sent + p.Received,
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
