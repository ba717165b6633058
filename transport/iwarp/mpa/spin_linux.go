//go:build !mpaportable

package mpa

import (
	"sync/atomic"
	"time"
)

const (
	// spinTime is about twice what a sleeping CPU takes to wake up: the peer may have to do that
	// first.
	spinTime = 50 * time.Microsecond

	// spinRow is how often in a row a connection spins before it sleeps nevertheless. The runtime
	// need not look for other ready sockets while goroutines are ready to run, as spinning ones
	// are.
	spinRow = 16

	// spinPause is the most sleeps between two attempts to spin.
	spinPause = 255
)

// spinning is set while one connection of the process spins. One is enough: many would take the CPU
// away from what they wait for.
var spinning atomic.Bool

// spin decides whether to look again for what the peer is about to send, before sleeping. If the
// peer is far away or slow, it soon gives up and rarely tries again.
type spin struct {
	on     bool
	row    uint8  // successes without a sleep in between
	missed uint16 // length of the last pause, or 0 after a success
	pause  uint16 // sleeps left until the next attempt
}

// begin reports whether to spin.
func (s *spin) begin() bool {
	switch {
	case s.pause > 0:
		s.pause--
	case s.row == spinRow:
		s.row = 0
	default:
		s.on = spinning.CompareAndSwap(false, true)
	}
	return s.on
}

// end notes whether spinning found something.
func (s *spin) end(found bool) {
	s.on = false
	spinning.Store(false)
	if found {
		s.row++
		s.missed = 0
		return
	}
	s.row = 0
	s.missed = min(2*s.missed+1, spinPause)
	s.pause = s.missed
}
