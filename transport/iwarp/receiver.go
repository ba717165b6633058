package iwarp

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// receiver takes what the peer sends: it is the LLP's Sink. The placer takes tagged segments, the
// assembler makes messages of Sends, and the inbox delivers these. All of it belongs to the
// goroutine of endpoint.run, except for what is said to be guarded by the link's mu.
type receiver struct {
	*link
	sender    *sender
	completer *completer

	begun     bool // a segment has come
	assembler assembler
	receives  receives
	placer    placer
	inbox     inbox
	rtr       rtrGate
	readMSN   uint32      // of the peer's next Read Request
	reader    fair.Reader // of a connection that was accepted: who asked for it pays for it
}

var _ ddp.Sink = (*receiver)(nil)

// init readies r for an endpoint with these parts, of a connection with this setup.
func (r *receiver) init(l *link, sender *sender, completer *completer, s *ddp.Setup) {
	r.link, r.sender, r.completer = l, sender, completer
	r.rtr = rtrGate{link: l}
	if !s.Initiator && s.RTR != 0 {
		r.rtr.kinds, r.rtr.anySend, r.rtr.within = s.RTR, s.AnySend, l.cfg.HandshakeTimeout
	}
	r.placer = placer{link: l}
	r.assembler = assembler{link: l, receives: &r.receives, inbox: &r.inbox, msn: 1}
	r.receives = receives{link: l, posted: ring.New[*transport.RecvRequest](l.cfg.RecvDepth)}
	r.inbox.link, r.inbox.sender = l, sender
	r.readMSN = 1
	if !s.Initiator {
		r.reader = fair.ThisProcess.Join(peerhost.Of(l.info.RemoteAddr))
	}
}

// run takes what the peer sends until the connection ends.
func (r *receiver) run() {
	for {
		r.reader.Await()
		err := r.llp.Receive(r)
		r.inbox.deliver()
		r.sender.uncork()
		held := err == ddp.ErrHold
		if err != nil && !held {
			r.fail(err)
			return
		}
		// What was posted meanwhile leaves, and is complete; and no more is read while completions
		// lag.
		r.sender.send()
		r.completer.complete()
		if r.placer.fetched {
			r.placer.fetched = false
			runtime.Gosched() // for who waits for an RDMA Read, before more is read
		}
		r.completer.catchUp()
		if held {
			err = r.hold()
		}
		if err != nil || r.Err() != nil {
			return
		}
	}
}

// hold waits until the source may have memory for the message that has begun to come. The peer is
// held up by the flow control of TCP meanwhile; what is posted leaves all the same. A peer that has
// gone ends the connection, rather than to have a place in front of others that wait for memory.
func (r *receiver) hold() error {
	err := r.llp.Hold()
	if err != nil {
		r.fail(err)
	}
	return err
}

// Segment takes a segment from the LLP.
func (r *receiver) Segment(segment []byte) error {
	h, payload, err := ddp.Parse(segment)
	if err != nil {
		return err
	}
	if r.hear() && r.rtr.kinds != 0 {
		r.assembler.rtr, err = r.rtr.check(&h, payload)
	}
	switch {
	case err != nil:
	case h.Tagged:
		err = r.placer.segment(&h, payload)
	default:
		err = r.untagged(&h, payload)
	}
	if code, ok := err.(errCode); ok {
		return newViolation(rdmap.Code(code), segment)
	}
	return err
}

// untagged takes a segment of the untagged model: of a Send, a Read Request, or a Terminate.
func (r *receiver) untagged(h *ddp.Header, payload []byte) error {
	if !r.version.segment(h) {
		return errCode(rdmap.UntaggedVersion)
	}
	if h.Queue > ddp.QueueTerminate {
		return errCode(rdmap.UntaggedQueue)
	}
	op, ok := r.version.operation(h)
	switch {
	case !ok:
		return errCode(rdmap.OperationVersion)
	case !op.Valid() || op.Tagged() || op.Queue() != h.Queue:
		return errCode(rdmap.OperationOpcode)
	case op == rdmap.OpReadRequest:
		return r.readRequest(h, payload)
	case op == rdmap.OpTerminate:
		return r.terminate(payload)
	}
	return r.assembler.segment(h, op, payload)
}

// hear notes that the peer has sent something, so that this side may. It reports whether that is
// the first.
func (r *receiver) hear() bool {
	if r.begun {
		return false
	}
	r.begun = true
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = true
	r.rtr.stop()
	r.sender.nudger.stop()
	return true
}

// Ready reports whether there is memory for whatever message comes.
func (r *receiver) Ready() bool { return r.receives.ready() }

// Unfinished names the Send that is coming, or else the response to an RDMA Read. An RDMA Write
// holds nothing, and may remain without its end. Messages are sent one after another (RFC 5041
// section 5.3), so that what comes of others meanwhile does not count.
func (r *receiver) Unfinished() (message uint64, moved int) {
	moved = r.assembler.moved + r.placer.moved
	switch {
	case r.assembler.open:
		return 1 + 2*uint64(r.assembler.msn), moved
	case r.placer.begun:
		return 2 + 2*r.placer.reads, moved
	}
	return 0, moved
}

// ExpectsMore reports whether the peer has something to answer at once: an RDMA Read of ours, or
// the offer of memory, which it is going to read.
func (r *receiver) ExpectsMore() bool {
	if r.offered.Load() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queues.reads.Len() > 0
}

// fail ends the connection because of an error of Receive.
func (r *receiver) fail(err error) {
	var (
		bad   *violation
		told  *terminated
		fault *ddp.Fault
		words *rdmap.Terminate
		count *atomic.Uint64
		line  string
	)
	switch {
	case errors.As(err, &bad):
		err, words, line = bad.err, &bad.terminate, "connection terminated: bad segment"
	case errors.As(err, &told):
		err, count, line = told.err, &r.counters.terminatesReceived, "connection terminated by peer"
	case errors.As(err, &fault):
		code := rdmap.Code(fault.Code)
		words, count = &rdmap.Terminate{Code: code}, r.counters.faults(code)
		line = "connection terminated"
	case errors.Is(err, ddp.ErrStalled):
		count, line = &r.counters.stalls, "connection ended"
		if message, _ := r.Unfinished(); message != 0 {
			err = fmt.Errorf("%w in the middle of a message", err)
			words = &rdmap.Terminate{Code: rdmap.OperationStream}
		}
	case errors.Is(err, ddp.ErrShort):
		line = "connection ended"
	default:
		err = byPeer(err)
	}
	r.end(r.opError("receive", err), words, count, line)
}

// release lets go of the upper layer's memory, after the end.
func (r *receiver) release() {
	r.receives.drop()
	r.inbox.drop()
	r.assembler.drop()
}
