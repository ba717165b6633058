package iwarp

import (
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// A ready-to-receive indication (RTR) is the last message of the setup of a peer-to-peer connection:
// an empty message by which the initiator lets the responder send (RFC 6581 section 9.2).

// rtrGate is what a responder knows of the RTR that must come before anything else. It belongs to the
// goroutine that receives, except for late, which the link's mu guards.
type rtrGate struct {
	kinds   ddp.RTR // of which one must come; zero when it has, or none has to
	anySend bool    // a Send of the upper layer's may come in its place
	within  time.Duration
	late    *time.Timer
}

// stop stops waiting; the link's mu is held.
func (g *rtrGate) stop() {
	if g.late != nil {
		g.late.Stop()
	}
}

// awaitRTR ends the connection if the RTR does not come in time; r.mu is held.
func (r *receiver) awaitRTR() {
	if r.rtr.within > 0 {
		r.rtr.late = time.AfterFunc(r.rtr.within, r.missRTR)
	}
}

var errNoRTR = fmt.Errorf("%w: no ready-to-receive indication", ddp.ErrStalled)

// missRTR ends a connection whose setup the peer does not complete.
func (r *receiver) missRTR() {
	r.mu.Lock()
	heard := r.heard
	r.mu.Unlock()
	if !heard {
		r.end(r.opError("receive", errNoRTR), nil, &r.counters.Stalls, "connection ended")
	}
}

// checkRTR checks that the first segment is the RTR.
func (r *receiver) checkRTR(h *ddp.Header, payload []byte) error {
	allowed, anySend := r.rtr.kinds, r.rtr.anySend
	r.rtr.kinds = 0
	kind := ddp.RTR(0)
	switch _, op := rdmap.ParseControl(h.Control); op {
	case rdmap.OpWrite:
		kind = ddp.RTRWrite
	case rdmap.OpSend:
		kind = ddp.RTRSend
	case rdmap.OpReadRequest:
		kind = ddp.RTRRead
		if q, err := rdmap.ParseReadRequest(payload); err == nil && q.Len == 0 {
			payload = nil
		}
	case rdmap.OpSendInvalidate, rdmap.OpSendSE, rdmap.OpSendSEInvalidate:
		if anySend {
			return nil
		}
	case rdmap.OpTerminate: // what the initiator cannot live with
		return nil
	}
	if kind == ddp.RTRSend && anySend && (len(payload) > 0 || !h.Last) {
		return nil
	}
	if kind&allowed == 0 || len(payload) > 0 || !h.Last || h.MO != 0 {
		return errCode(rdmap.MPARTR)
	}
	r.assembler.rtr = kind == ddp.RTRSend
	return nil
}
