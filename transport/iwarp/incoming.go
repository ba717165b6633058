package iwarp

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// batchMessages is how many messages are delivered together: enough to save work, and few enough for both ends to be
// busy when many are in flight, rather than each to wait until the other has handled them all.
const batchMessages = 16

// incoming is what run knows of the messages of the peer.
type incoming struct {
	heard   bool    // anything at all
	rtr     ddp.RTR // the kinds of which one must come first, until it has
	anySend bool    // a Send of the upper layer's may come in its place
	rtrSend bool    // the segment is the RTR, by Send

	// The message of queue 0 whose segments are coming, if open.
	open    bool
	opcode  rdmap.Opcode
	receive *transport.RecvRequest
	rest    ddp.Payload // of the receive
	room    int         // bytes in it
	len     uint32      // bytes that have come

	fetched bool // an RDMA Read of ours is complete since that was last looked at

	msnSend uint32 // of the next, or open, message of queue 0
	msnRead uint32 // of the next of queue 1

	messages []transport.Message
	array    [batchMessages]transport.Message
}

func (in *incoming) init(s *ddp.Setup) {
	if !s.Initiator {
		in.rtr, in.anySend = s.RTR, s.AnySend
	}
	in.msnSend, in.msnRead = 1, 1
	in.messages = in.array[:0]
}

// violation is a segment that RDMAP or DDP forbids.
type violation struct {
	terminate rdmap.Terminate
	err       *rdmap.Error
}

func newViolation(code rdmap.Code, segment []byte) *violation {
	t := rdmap.ForSegment(code, segment)
	v := &violation{t, t.Err(false)}
	v.terminate.DDPHeader = append([]byte(nil), t.DDPHeader...)
	v.terminate.RDMAPHeader = append([]byte(nil), t.RDMAPHeader...)
	return v
}

func (v *violation) Error() string { return v.err.Error() }

// terminated is a Terminate message of the peer's.
type terminated struct{ err *rdmap.Error }

func (t *terminated) Error() string { return t.err.Error() }

// errCode is a violation whose segment the caller knows.
type errCode rdmap.Code

func (c errCode) Error() string { return rdmap.Code(c).String() }

// Segment takes a segment from the LLP.
func (e *endpoint) Segment(segment []byte) error {
	h, payload, err := ddp.Parse(segment)
	if err != nil {
		return err
	}
	e.hear()
	if err = e.first(&h, payload); err == nil {
		if h.Tagged {
			err = e.tagged(&h, payload)
		} else {
			err = e.untagged(&h, payload)
		}
	}
	if code, ok := err.(errCode); ok {
		return newViolation(rdmap.Code(code), segment)
	}
	return err
}

// hear notes that the peer has sent something, so that this side may.
func (e *endpoint) hear() {
	if e.in.heard {
		return
	}
	e.in.heard = true
	e.mu.Lock()
	e.heard, e.answered = true, true
	for _, t := range []*time.Timer{e.nudges, e.rtrLate} {
		if t != nil {
			t.Stop()
		}
	}
	e.mu.Unlock()
}

// errNoRTR: the last message of the setup of a peer-to-peer connection (RFC 6581 section 3).
var errNoRTR = fmt.Errorf("%w: no ready-to-receive indication", ddp.ErrStalled)

// missRTR ends a connection whose setup the peer does not complete.
func (e *endpoint) missRTR() {
	e.mu.Lock()
	heard := e.heard
	e.mu.Unlock()
	if !heard {
		e.end(e.opError("receive", errNoRTR), nil, &e.counters.Stalls, "connection ended")
	}
}

// first checks that the RTR, if there is to be one, comes before anything else (RFC 6581 section 9.2).
func (e *endpoint) first(h *ddp.Header, payload []byte) error {
	allowed := e.in.rtr
	if allowed == 0 {
		return nil
	}
	e.in.rtr = 0
	kind := ddp.RTR(0)
	switch _, op := rdmap.ParseControl(h.Control); op {
	case rdmap.OpWrite:
		kind = ddp.RTRWrite
	case rdmap.OpSend:
		kind = ddp.RTRSend
	case rdmap.OpReadRequest:
		kind = ddp.RTRRead
		if r, err := rdmap.ParseReadRequest(payload); err == nil && r.Len == 0 {
			payload = nil
		}
	case rdmap.OpSendInvalidate, rdmap.OpSendSE, rdmap.OpSendSEInvalidate:
		if e.in.anySend {
			return nil
		}
	case rdmap.OpTerminate: // what the initiator cannot live with
		return nil
	}
	if kind == ddp.RTRSend && e.in.anySend && (len(payload) > 0 || !h.Last) {
		return nil
	}
	if kind&allowed == 0 || len(payload) > 0 || !h.Last || h.MO != 0 {
		return errCode(rdmap.MPARTR)
	}
	e.in.rtrSend = kind == ddp.RTRSend
	return nil
}

// deliver hands the messages that have come to the receiver. What is posted meanwhile waits until all that was read has been handled,
// so that it leaves together.
func (e *endpoint) deliver() {
	if len(e.in.messages) == 0 {
		return
	}
	e.offered.Store(false)
	e.mu.Lock()
	r, over := e.handler, e.err != nil
	e.corked = true
	e.mu.Unlock()
	if !over {
		r.Received(e.in.messages)
		e.yield()
	}
	clear(e.in.messages)
	e.in.messages = e.in.array[:0]
}

// yielding counts the goroutines that receive and have given others their turn.
var yielding atomic.Int32

// yield lets those run first that the messages have woken, if nothing was posted in answer to them: what they post leaves together, too, and
// before this goroutine looks for more, of which there will hardly be any.
//
// Not so after a single message while another connection yields: many are busy then, and the turn would come back when they all have run, and
// what this one needs is not in the cache any more. What one message leads to has nothing to wait for, so it is sent by who posts it.
func (e *endpoint) yield() {
	e.mu.Lock()
	answered := e.queues.requests.untaken() > 0
	alone := !answered && len(e.in.messages) == 1 && yielding.Load() > 0
	if alone {
		e.corked = false
	}
	e.mu.Unlock()
	if answered || alone {
		return
	}
	yielding.Add(1)
	runtime.Gosched()
	yielding.Add(-1)
}
