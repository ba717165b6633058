package iwarp

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// receiver takes what the peer sends. It is the LLP's Sink. The placer takes tagged segments, the
// assembler makes messages from Sends, and the inbox delivers them. All of it belongs to the
// goroutine of endpoint.run, except for what the link's mu guards.
type receiver struct {
	*link
	sender    *sender
	completer *completer

	begun     bool // a segment has arrived
	assembler assembler
	receives  receives
	placer    placer
	inbox     inbox
	rtr       rtrGate
	readMSN   uint32      // of the peer's next Read Request
	reader    fair.Reader // of an accepted connection: its host is charged for the work
}

var _ ddp.Sink = (*receiver)(nil)

// init sets r up for an endpoint with these parts.
func (r *receiver) init(l *link, sender *sender, completer *completer) {
	r.link, r.sender, r.completer = l, sender, completer
	r.rtr.link = l
	r.placer.link = l
	r.assembler = assembler{link: l, receives: &r.receives, inbox: &r.inbox, msn: 1}
	r.receives = receives{link: l, posted: ring.New[*transport.RecvRequest](l.cfg.RecvDepth)}
	r.inbox.link, r.inbox.sender = l, sender
	r.readMSN = 1
}

// connect adapts r to what was agreed on.
func (r *receiver) connect(s *ddp.Setup) {
	if s.Initiator {
		return
	}
	r.reader = fair.ThisProcess.Join(peerhost.Of(r.info.RemoteAddr))
	if s.RTR != 0 {
		r.rtr.kinds, r.rtr.anySend, r.rtr.within = s.RTR, s.AnySend, r.cfg.HandshakeTimeout
	}
}

// run receives until the connection ends.
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
		// Send and complete what was posted meanwhile. Read no more while completions lag behind.
		r.sender.send()
		r.completer.complete()
		if r.placer.fetched {
			r.placer.fetched = false
			runtime.Gosched() // lets whoever waits for an RDMA Read run, before more is read
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

// hold waits until the source may have memory for the message that has begun to arrive. Meanwhile
// flow control stops the peer, but posted requests are still sent. If the peer leaves, the
// connection ends, and does not keep its place in the queue for memory.
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

// untagged takes an untagged segment: of a Send, a Read Request, or a Terminate.
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

// hear notes that the peer has sent something, so that this side may send. It reports whether this
// was the first time.
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

// Ready reports whether there is memory for any message that comes.
func (r *receiver) Ready() bool { return r.receives.ready() }

// Unfinished names the Send that is arriving, or else the response to an RDMA Read. RDMA Writes do
// not count: they hold nothing, and may stay without their end. Messages are sent one after another
// (RFC 5041 section 5.3), so bytes of other messages do not count in moved.
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

// ExpectsMore reports whether the peer is likely to send something at once: the response to an RDMA
// Read of ours, or a Read of memory that we have just offered.
func (r *receiver) ExpectsMore() bool {
	if r.offered.Load() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queues.reads.Len() > 0
}

// fail ends the connection after an error of Receive.
func (r *receiver) fail(err error) {
	var (
		bad   *violation
		told  *terminated
		fault *ddp.Fault
		words *rdmap.Terminate
		count *uint64
		line  string
	)
	switch {
	case errors.As(err, &bad):
		err, words, line = bad.err, &bad.terminate, "connection terminated: bad segment"
	case errors.As(err, &told):
		err, count = told.err, &r.counters.stats.TerminatesReceived
		line = "connection terminated by peer"
	case errors.As(err, &fault):
		code := rdmap.Code(fault.Code)
		words, count = &rdmap.Terminate{Code: code}, r.counters.faults(code)
		line = "connection terminated"
	case errors.Is(err, ddp.ErrStalled):
		count, line = &r.counters.stats.Stalls, "connection ended"
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

// release drops the upper layer's memory, after the end.
func (r *receiver) release() {
	r.receives.drop()
	r.inbox.drop()
	r.assembler.drop()
}
