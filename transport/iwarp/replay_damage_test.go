package iwarp_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// replayShare selects one of so many damaged sessions. It is 1, unless all would take too long.
var replayShare = 1

// TestReplayTruncated ends each stream early: at every position of its beginning, and at random
// later ones. What came before has had its effect, and our side finds that the peer has closed.
func TestReplayTruncated(t *testing.T) {
	const beginning, random = 2 << 10, 200
	eachReplay(t, func(t *testing.T, s *replaySession) {
		rng := newRand(t)
		var places []int
		for at := rng.IntN(replayShare); at < beginning; at += replayShare {
			places = append(places, at)
		}
		for range random / replayShare {
			places = append(places, beginning+rng.IntN(s.peer.len-beginning))
		}
		eachPlace(t, s, places, func(t *testing.T, st *replayStage, at int) {
			r := st.replay(t, replayScript{turns: s.turns, until: at})
			checkTruncated(t, s, &r, at)
		})
	})
}

func checkTruncated(t *testing.T, s *replaySession, r *replayResult, at int) {
	t.Helper()
	if r.play != nil || r.drain != nil {
		t.Errorf("peer: %v, %v", r.play, r.drain)
	}
	var failed *mpa.StartupError
	switch {
	case at < len(s.peer.startup) && s.initiator:
		if !errors.As(r.err, &failed) || r.upper != nil {
			t.Errorf("got %v, want a StartupError", r.err)
		}
		return
	case at < len(s.peer.startup):
		if r.err != errNoRequest || len(r.rest) > 0 {
			t.Errorf("got %v and % x, want no request and nothing", r.err, r.rest)
		}
		return
	}
	if r.upper == nil {
		t.Errorf("got no connection: %v", r.err)
		return
	}
	if !errors.Is(r.err, transport.ErrClosedByPeer) {
		t.Errorf("ended with %v, want %v", r.err, transport.ErrClosedByPeer)
	}
	inside := s.peer.fpduAt(at) != nil && s.peer.fpduAt(at).start != at
	if got := errors.Is(r.err, io.ErrUnexpectedEOF); got != inside {
		t.Errorf("ended with %v, inside an FPDU: %v", r.err, inside)
	}
	r.upper.verify(at)
}

// TestReplayFlipped changes single bits. With CRC32C our side notices, and nothing that follows has
// any effect. Without, anything may happen except a panic or a hang.
func TestReplayFlipped(t *testing.T) {
	const flips = 200
	eachReplay(t, func(t *testing.T, s *replaySession) {
		rng := newRand(t)
		var places []int
		for range flips / replayShare {
			places = append(places, rng.IntN(8*s.peer.len))
		}
		// Startup frames and lengths are too rare for random positions.
		for range flips / 4 / replayShare {
			places = append(places, rng.IntN(8*len(s.peer.startup)))
			f := s.peer.fpdus[rng.IntN(len(s.peer.fpdus))]
			places = append(places, 8*f.start+rng.IntN(16))
		}
		eachPlace(t, s, places, func(t *testing.T, st *replayStage, bit int) {
			at := bit / 8
			inStartup := at < len(s.peer.startup)
			r := st.replay(t, replayScript{
				turns: s.turns, until: at + 1,
				tail: 70 << 10, // more than the longest FPDU
				flip: replayFlip{at, 1 << (bit % 8)}, blind: inStartup, lenient: inStartup || !s.crc,
			})
			checkFlipped(t, s, &r, at)
		})
	})
}

func checkFlipped(t *testing.T, s *replaySession, r *replayResult, at int) {
	t.Helper()
	if r.err == nil {
		t.Error("our side found no end")
	}
	f := s.peer.fpduAt(at)
	if f == nil || !s.crc {
		if r.upper != nil && r.upper.completed != r.upper.posted {
			t.Errorf("%d of %d requests have completed", r.upper.completed, r.upper.posted)
		}
		return
	}
	if r.play != nil || r.upper == nil {
		t.Errorf("peer: %v, connection: %v", r.play, r.err)
		return
	}
	r.upper.verify(f.start)
	inLength := at < f.start+2
	switch {
	case errors.Is(r.err, mpa.ErrCRC):
		if f != &s.peer.fpdus[0] || s.initiator { // otherwise the responder may not send yet
			checkCRCTerminate(t, s, r.rest)
		}
	case inLength && (errors.Is(r.err, transport.ErrClosedByPeer) || errors.Is(r.err, mpa.ErrLength)):
	default:
		t.Errorf("ended with %v, want %v", r.err, mpa.ErrCRC)
	}
}

// checkCRCTerminate checks that the last of our FPDUs reports a wrong CRC in one of the peer's.
func checkCRCTerminate(t *testing.T, s *replaySession, fpdus []byte) {
	t.Helper()
	got := parseCapturedStream(t, append(s.ours.startup[:len(s.ours.startup):len(s.ours.startup)], fpdus...))
	if len(got.messages) == 0 {
		t.Error("got no Terminate message")
		return
	}
	last := got.messages[len(got.messages)-1]
	m, err := rdmap.ParseTerminate(last.payload)
	if err != nil || last.op != rdmap.OpTerminate || m.Code != rdmap.MPACRC {
		t.Errorf("got a %v, %v, %v, want a Terminate: %v", last.op, m.Code, err, rdmap.MPACRC)
	}
}

// eachPlace runs test for each position, on two stages.
func eachPlace(t *testing.T, s *replaySession, places []int, test func(t *testing.T, st *replayStage, place int)) {
	var taken atomic.Int64
	t.Run("each", func(t *testing.T) { // does not return before its parallel subtests have
		for i := range 2 {
			t.Run(fmt.Sprint("stage ", i), func(t *testing.T) {
				t.Parallel()
				st := newReplayStage(t, s)
				defer st.close()
				for !t.Failed() {
					i := int(taken.Add(1)) - 1
					if i >= len(places) {
						return
					}
					if test(t, st, places[i]); t.Failed() {
						t.Logf("that was place %d, of %d bytes", places[i], s.peer.len)
					}
				}
			})
		}
	})
}
