package iwarp

import (
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// A ready-to-receive indication (RTR) is the last message of the setup of a peer-to-peer
// connection: an empty message after which the responder may send (RFC 6581 section 9.2).

// rtrGate checks that a responder gets the RTR before anything else. It belongs to the goroutine
// that receives, except for late, which the link's mu guards.
type rtrGate struct {
	*link
	kinds   ddp.RTR // one of these must come; zero if it has come, or none is needed
	anySend bool    // a Send of the upper layer may replace it: draft05.go
	within  time.Duration
	late    *time.Timer
}

// await ends the connection if the RTR does not come in time; g.mu is held.
func (g *rtrGate) await() {
	if g.within > 0 {
		g.late = time.AfterFunc(g.within, g.miss)
	}
}

// stop stops waiting; g.mu is held.
func (g *rtrGate) stop() {
	if g.late != nil {
		g.late.Stop()
	}
}

var errNoRTR = fmt.Errorf("%w: no ready-to-receive indication", ddp.ErrStalled)

// miss ends a connection if the peer has not completed the setup.
func (g *rtrGate) miss() {
	g.mu.Lock()
	heard := g.heard
	g.mu.Unlock()
	if !heard {
		g.end(g.opError("receive", errNoRTR), nil, &g.counters.stats.Stalls, "connection ended")
	}
}

// check checks that the first segment is the RTR, or may replace it. It reports whether it is an
// RTR by Send, which is not a message for the upper layer.
func (g *rtrGate) check(h *ddp.Header, payload []byte) (bySend bool, err error) {
	allowed := g.kinds
	g.kinds = 0
	kind := ddp.RTR(0)
	_, op := rdmap.ParseControl(h.Control)
	switch op {
	case rdmap.OpWrite:
		kind = ddp.RTRWrite
	case rdmap.OpSend:
		kind = ddp.RTRSend
	case rdmap.OpReadRequest:
		kind = ddp.RTRRead
		if q, err := rdmap.ParseReadRequest(payload); err == nil && q.Len == 0 {
			payload = nil
		}
	case rdmap.OpTerminate: // the initiator refuses the connection
		return false, nil
	}
	if g.anySend && upperSend(op, h, payload) {
		return false, nil
	}
	if kind&allowed == 0 || len(payload) > 0 || !h.Last || h.MO != 0 {
		return false, errCode(rdmap.MPARTR)
	}
	return kind == ddp.RTRSend, nil
}

// takeRTR begins the RTR, or a nudge. No work request belongs to either. s.mu and the link's mu are
// held.
func (s *segmenter) takeRTR() {
	q, o := &s.link.queues, &s.out
	switch q.rtr {
	case ddp.RTRWrite:
		// The tag need not exist. siw does the same; adapters refuse tag 0.
		o.beginWrite(transport.Remote{STag: 1}, nil, 0)
	case ddp.RTRRead:
		q.reads.Push(o.beginRead(rtrRead, transport.Remote{STag: 1}, nil, 0))
	default:
		o.beginSend(rdmap.OpSend, 0, nil, 0)
	}
	q.rtr = 0
}
