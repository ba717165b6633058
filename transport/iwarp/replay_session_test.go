package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// replaySession is a captured connection in which we play one side.
type replaySession struct {
	crc        bool
	markers    bool
	initiator  bool // so are we
	ours, peer *capturedStream
	turns      []replayTurn
	steps      []replayStep
	windows    []replayWindow
	config     iwarp.Config
	mulpdu     int
}

// replayTurn is a run of bytes in one direction.
type replayTurn struct {
	ours bool
	n    int
}

// replayStep is what our upper layer posts, and what it must have seen before.
type replayStep struct {
	message  *capturedMessage
	sends    int              // Sends by the peer, received
	reads    int              // RDMA Reads, complete
	response *capturedMessage // of an RDMA Read
	initial  []byte           // initial content of its memory, different from the response
}

func loadReplay(tb testing.TB, name string, initiator bool) *replaySession {
	tb.Helper()
	c := capture.Load(tb, name)
	s := &replaySession{initiator: initiator}
	active, passive := parseCapturedStream(tb, c.Initiator), parseCapturedStream(tb, c.Responder)
	s.ours, s.peer = passive, active
	if initiator {
		s.ours, s.peer = active, passive
	}
	for _, chunk := range c.Chunks {
		s.turns = append(s.turns, replayTurn{chunk.FromInitiator == initiator, len(chunk.Bytes)})
	}
	s.crc = active.frame.CRC || passive.frame.CRC
	s.mulpdu = max(active.mulpdu(tb), passive.mulpdu(tb))
	s.config = s.configure()
	s.steps = s.script(tb)
	if initiator {
		s.windows = s.findWindows(tb)
	}
	return s
}

// configure returns the Config with which we send the startup frame of the side that we play.
func (s *replaySession) configure() iwarp.Config {
	d := s.ours.enhanced
	depth := func(n uint16) int {
		if n == 0 {
			return -1
		}
		return int(n)
	}
	cfg := iwarp.Config{
		IRD: depth(d.IRD), ORD: depth(d.ORD), PeerToPeer: s.initiator && d.PeerToPeer, RTR: d.RTR,
		Enhanced: mpa.EnhancedRequired, CRC: iwarp.CRCOff, MaxSegment: s.mulpdu, NudgeAfter: -1, Logger: quiet,
	}
	if s.crc {
		cfg.CRC = iwarp.CRCOn
	}
	return cfg
}

// withMarkers returns the session as if both sides had wanted markers.
func (s *replaySession) withMarkers() *replaySession {
	marked := *s
	marked.markers, marked.config.Markers = true, mpa.MarkersOn
	marked.ours, marked.peer = s.ours.withMarkers(), s.peer.withMarkers()
	return &marked
}

// script finds what our upper layer must post, and when: as soon as it has seen all that was on the
// wire before. The RTR and the responses to RDMA Reads come from the provider.
func (s *replaySession) script(tb testing.TB) (steps []replayStep) {
	tb.Helper()
	seen := func(m *capturedMessage) (sends, reads int) {
		before := s.peerBefore(m.start)
		for _, p := range s.peer.messages {
			switch {
			case p.end > before:
			case isSend(p.op):
				sends++
			case p.op == rdmap.OpReadResponse:
				reads++
			}
		}
		return sends, reads
	}
	responses := s.peer.ofKind(rdmap.OpReadResponse)
	for i := range s.ours.messages {
		m := &s.ours.messages[i]
		rtr := i == 0 && s.initiator && s.ours.enhanced.PeerToPeer
		if rtr || m.op == rdmap.OpReadResponse {
			continue
		}
		step := replayStep{message: m}
		step.sends, step.reads = seen(m)
		if m.op == rdmap.OpReadRequest {
			step.response, responses = responses[0], responses[1:]
			step.initial = complement(step.response.payload)
		}
		steps = append(steps, step)
	}
	if len(responses) > 0 {
		tb.Fatalf("%d responses without a request", len(responses))
	}
	return steps
}

// peerBefore returns how many bytes of the peer were on the wire before byte at of ours.
func (s *replaySession) peerBefore(at int) (n int) {
	for _, turn := range s.turns {
		switch {
		case !turn.ours:
			n += turn.n
		case at < turn.n:
			return n
		default:
			at -= turn.n
		}
	}
	return n
}
