package iwarp

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// sendRounds is how many batches somebody sends who has other things to do, before the flusher goes on with it.
const sendRounds = 4

// brokenTimeout is how long a connection that takes nothing any more is read from: the peer may have said why.
const brokenTimeout = 2 * time.Second

// send sends what is queued, as far as the network takes it at once, unless another goroutine does so.
func (e *endpoint) send() {
	e.mu.Lock()
	if e.corked && e.queues.requests.untaken() < corkedRequests || !e.startSending() {
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	for range sendRounds {
		e.batchMu.Lock()
		err := e.fill()
		empty := false
		if err == nil {
			empty, err = e.llp.Flush()
		}
		e.batchMu.Unlock()
		if err != nil || !empty {
			e.stopSending(err)
			return
		}
		if !e.batchSent() {
			return
		}
	}
	e.stopSending(nil)
}

// startSending reports whether the caller is to send; e.mu is held.
func (e *endpoint) startSending() bool {
	if e.sending || !e.sendable() {
		return false
	}
	e.sending = true
	return true
}

// batchSent notes that all of the batch has left. It reports whether there is more to send; if not, the goroutine
// does not send any more.
func (e *endpoint) batchSent() bool {
	e.batchMu.Lock()
	e.out.unpin(e.table)
	complete, active := e.out.complete, e.out.active
	e.batchMu.Unlock()

	e.mu.Lock()
	defer e.mu.Unlock()
	e.queues.requests.sent = max(e.queues.requests.sent, complete)
	e.awaitAnswer()
	if e.err == nil && (active || e.sendable()) {
		return true
	}
	e.sending = false
	e.idle.Broadcast()
	return false
}

// stopSending hands the rest to the flusher, or deals with what keeps it from being sent.
func (e *endpoint) stopSending(err error) {
	switch err := err.(type) {
	case nil:
	case *violation:
		e.end(e.opError("read by peer", err.err), &err.terminate, nil, "connection terminated: window ended during a read")
	default:
		e.writeFailed(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && e.err == nil {
		e.flusher.handed = true
		e.flusher.wake()
		return
	}
	e.sending = false
	e.idle.Broadcast()
}

// writeFailed stops sending. Why it failed the peer may have said in what there is to read still.
func (e *endpoint) writeFailed(err error) {
	if err == ddp.ErrStalled {
		e.end(e.opError("send", err), nil, &e.counters.Stalls, "connection ended")
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil && e.broken == nil {
		e.broken = err
		if e.handler != nil { // otherwise nobody has asked yet
			e.awaitReason()
		}
	}
}

// awaitReason gives up a broken connection after a while; e.mu is held.
func (e *endpoint) awaitReason() {
	cause := e.opError("send", byPeer(e.broken))
	time.AfterFunc(brokenTimeout, func() { e.end(cause, nil, nil, "") })
}

// fill puts segments in the batch until it is full or there are no more; e.batchMu is held.
func (e *endpoint) fill() error {
	for {
		if !e.out.active && !e.take() {
			return nil
		}
		if e.out.ends { // nothing of it is sent
			e.out.ends = false
			e.table.EndDetached(e.out.ended, e.detachHeld)
			e.out.complete = e.out.taken
			continue
		}
		room, err := e.out.segment(e.llp, e.table)
		if err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			return newViolation(protectionCode(err), e.queues.responses.At(0).segment(e.version))
		}
		if !room {
			return nil
		}
		if e.out.active {
			continue
		}
		e.out.complete = e.out.taken
		if e.out.response {
			e.mu.Lock()
			e.queues.responses.Pop()
			e.mu.Unlock()
		}
	}
}

// take begins the next message, if there is one. Our own and the responses take turns. e.batchMu is held.
func (e *endpoint) take() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.sendable() {
		return false
	}
	o := &e.out
	if e.queues.rtr != 0 {
		e.takeRTR()
		return true
	}
	wr, waiting := e.queues.nextRequest()
	if e.queues.responses.Len() > 0 && (!waiting || !o.answered) {
		o.answered = true
		o.beginResponse(e.queues.responses.At(0))
		return true
	}
	o.answered = false
	number := e.queues.requests.take()
	o.taken = number + 1
	if wr.Op == transport.OpInvalidate {
		o.ends, o.ended = true, wr.Invalidate
		return true
	}
	n := uint64(transport.TotalLen(wr.Local))
	switch wr.Op {
	case transport.OpWrite:
		o.beginWrite(wr.Remote, wr.Local, n)
	case transport.OpRead:
		e.queues.reads.Push(o.beginRead(number, wr.Remote, wr.Local, n))
	default:
		o.beginSend(sendOpcode(wr), wr.Invalidate, wr.Local, n)
	}
	return true
}

// takeRTR begins the RTR. It is the provider's: no work request belongs to it. e.mu is held.
func (e *endpoint) takeRTR() {
	o := &e.out
	switch e.queues.rtr {
	case ddp.RTRWrite:
		// siw, too, names a tag that is nobody's; adapters refuse 0.
		o.beginWrite(transport.Remote{STag: 1}, nil, 0)
	case ddp.RTRRead:
		e.queues.reads.Push(o.beginRead(rtrRead, transport.Remote{STag: 1}, nil, 0))
	default:
		o.beginSend(rdmap.OpSend, 0, nil, 0)
	}
	e.queues.rtr = 0
}
