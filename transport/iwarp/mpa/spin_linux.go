//go:build !mpaportable

package mpa

import (
	"sync/atomic"
	"time"
)

const (
	// spinTime is about twice what a CPU that sleeps takes to wake: the peer may have to do so
	// first.
	spinTime = 50 * time.Microsecond

	// spinRow is how often a connection spins before it sleeps all the same: while goroutines are
	// ready to run, as those that spin are, the runtime need not look whose socket is ready
	// besides.
	spinRow = 16

	// spinPause is how often at most a connection sleeps before it tries again whether to spin
	// helps.
	spinPause = 255
)

// spinning is set while a connection of the process spins: one is enough, and many would take the
// CPU away from what they wait for.
var spinning atomic.Bool

// spin decides whether to look again for what the peer is about to send, before sleeping. Where the
// peer is far, or slow, that is soon given up, and tried but rarely.
type spin struct {
	on     bool
	row    uint8  // successes without a sleep between
	missed uint16 // the length of the last pause, if nothing has succeeded since
	pause  uint16 // sleeps until the next attempt
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

// end notes whether that was of use.
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
