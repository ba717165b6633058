package iwarp_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// TestReplay plays each side of each capture against an endpoint that plays the other. The endpoint
// must send exactly what was captured, and receive everything as intended. With markers added, the
// result is the same.
func TestReplay(t *testing.T) {
	eachReplay(t, func(t *testing.T, s *replaySession) {
		for _, tt := range []struct {
			name  string
			s     *replaySession
			turns func(t *testing.T) []replayTurn
		}{
			{"chunks as captured", s, func(*testing.T) []replayTurn { return s.turns }},
			{"random chunks", s, func(t *testing.T) []replayTurn { return randomTurns(s.turns, newRand(t)) }},
			{"with markers", s.withMarkers(), func(t *testing.T) []replayTurn { return randomTurns(s.turns, newRand(t)) }},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := tt.s
				st := newReplayStage(t, s)
				defer st.close()
				r := st.replay(t, replayScript{turns: tt.turns(t), until: s.peer.len, whole: true})
				if r.play != nil {
					t.Errorf("peer: %v", r.play)
				}
				if r.upper == nil {
					t.Fatalf("got no connection: %v", r.err)
				}
				want := transport.ErrClosedByPeer
				if s.initiator {
					want = net.ErrClosed
				}
				if !errors.Is(r.err, want) {
					t.Errorf("ended with %v, want %v", r.err, want)
				}
				if len(r.rest) > 0 || r.drain != nil {
					t.Errorf("got % x and %v after all messages, want nothing", r.rest, r.drain)
				}
				if got, want := r.peer.compared, len(s.ours.fpdus); got != want {
					t.Errorf("sent %d FPDUs, want %d", got, want)
				}
				if got, want := r.info.PrivateData, s.peer.private; !bytes.Equal(got, want) {
					t.Errorf("private data: got % x, want % x", got, want)
				}
				r.upper.verify(s.peer.len)
				if got, want := r.upper.posted, len(s.steps); got != want || r.upper.flushed > 0 {
					t.Errorf("posted %d requests and %d were flushed, want %d and none", got, r.upper.flushed, want)
				}
			})
		}
	})
}

// eachReplay runs test for both sides of each capture, and then checks for leaked goroutines.
func eachReplay(t *testing.T, test func(t *testing.T, s *replaySession)) {
	for _, name := range capture.Names() {
		for _, side := range []string{"initiator", "responder"} {
			t.Run(name+", our "+side, func(t *testing.T) {
				defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
				test(t, loadReplay(t, name, side == "initiator"))
			})
		}
	}
}

var replaySeed = flag.Uint64("replay.seed", 0, "seed of the tests that replay captures; 0 for a random one")

// newRand returns a random generator, and logs its seed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *replaySeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-replay.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomTurns keeps the order of the turns, but cuts the peer's at random positions.
func randomTurns(turns []replayTurn, rng *rand.Rand) (random []replayTurn) {
	for i := 0; i < len(turns); {
		n, ours := 0, turns[i].ours
		for ; i < len(turns) && turns[i].ours == ours; i++ {
			n += turns[i].n
		}
		for n > 0 {
			// Now and then very few bytes at a time.
			piece := min(n, 1+rng.IntN(1<<(1+rng.IntN(14))))
			random = append(random, replayTurn{ours, piece})
			n -= piece
		}
	}
	return random
}
