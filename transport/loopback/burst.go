package loopback

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// How much work of one end is done before the other end has its turn.
const (
	burstRequests = 64
	burstBytes    = 256 << 10
)

// burst is a run of work requests of one end that are executed together. The queues are locked once
// for all of them, and the peer gets their messages as one batch.
type burst struct {
	from     *endpoint
	calling  *endpoint                // the end whose upper layer is called
	receiver transport.MessageHandler // of the peer
	tasks    []task
	ran      int   // tasks that were executed
	failure  error // of the last one of these
	reported int   // tasks whose completion was reported, if they have one
	messages []transport.Message
	sent     uint64 // bytes sent to the peer by requests executed so far
	read     uint64 // bytes read from the peer by them

	// Storage of tasks and messages.
	taskArray    [burstRequests]task
	messageArray [burstRequests]transport.Message
}

// task is a work request with the peer's receive for it.
type task struct {
	wr      *transport.WorkRequest
	receive *transport.RecvRequest // for a Send; nil if none was posted
	promise bool                   // the receive was promised, and comes from the peer's source
	bytes   int
}

// gather takes work off the queue of e and reports whether there was any. If the peer takes nothing
// now, that is only local invalidations, up to the first request that needs the peer. The lock of
// the link is held.
func (b *burst) gather(e *endpoint) bool {
	b.from, b.receiver = e, e.peer.receiver
	b.tasks, b.messages = b.taskArray[:0], b.messageArray[:0]
	b.ran, b.failure, b.reported = 0, nil, 0
	peerTakes := e.peer.receiver != nil && !e.peer.held
	for bytes := 0; len(b.tasks) < burstRequests && bytes < burstBytes; {
		if e.sends.Len() == 0 || !peerTakes && (*e.sends.At(0)).Op != transport.OpInvalidate {
			break
		}
		wr, _ := e.sends.Pop()
		t := task{wr: wr}
		if wr.Op != transport.OpInvalidate {
			t.bytes = transport.TotalLen(wr.Local)
		}
		if wr.Op == transport.OpSend || wr.Op == transport.OpSendInvalidate {
			var posted bool
			if t.receive, posted = e.peer.recvs.Pop(); !posted && e.peer.promised > 0 {
				e.peer.promised--
				t.promise = true
			}
		}
		bytes += t.bytes
		b.tasks = append(b.tasks, t)
	}
	return len(b.tasks) > 0
}

// run executes the burst and reports to both ends. The first failure ends the connection.
func (b *burst) run() {
	b.calling = b.from.peer
	for b.ran < len(b.tasks) && b.failure == nil {
		t := &b.tasks[b.ran]
		if t.promise {
			if t.receive = b.from.peer.source.Receive(); t.receive == nil {
				b.putBack(b.ran)
				break
			}
		}
		b.failure = b.execute(t)
		b.ran++
		if o := b.from.link.observer; o != nil && b.failure == nil {
			o.Executed(b.from == b.from.link.ends[1], t.wr)
		}
	}
	if b.failure != nil {
		b.failure = b.fail(b.tasks[b.ran-1].wr.Op, b.failure)
	}
	b.calling = b.from
	b.report()
	// This comes last because it wakes goroutines that wait for these messages. The sooner the pump
	// sleeps after that, the likelier they run where the data is in cache.
	b.calling = b.from.peer
	if len(b.messages) > 0 {
		b.receiver.Received(b.messages)
	}
	clear(b.messages)
}

// report completes the tasks, from the first one on whose completion was not reported yet. Those
// that did not run are flushed.
func (b *burst) report() {
	if len(b.tasks) == 0 {
		return
	}
	b.from.sent.Add(b.sent)
	if b.read > 0 {
		b.from.peer.sent.Add(b.read)
		b.from.read.Add(b.read)
	}
	b.sent, b.read = 0, 0
	for b.reported < len(b.tasks) {
		i := b.reported
		wr := b.tasks[i].wr
		b.reported++
		switch {
		case i >= b.ran:
			wr.Done.Complete(wr, b.from.opError(wr.Op.String(), transport.ErrFlushed))
		case i == b.ran-1 && b.failure != nil:
			wr.Done.Complete(wr, b.failure)
		case wr.Flags&transport.Signaled != 0:
			wr.Done.Complete(wr, nil)
		}
	}
	clear(b.tasks)
	b.tasks = b.tasks[:0]
}

// putBack returns tasks to their queue, from n on. There is no memory for task n.
func (b *burst) putBack(n int) {
	from, peer := b.from, b.from.peer
	from.link.mu.Lock()
	defer from.link.mu.Unlock()
	for i := len(b.tasks) - 1; i >= n; i-- {
		t := &b.tasks[i]
		from.sends.PushFront(t.wr)
		if t.promise {
			peer.promised++
		}
	}
	clear(b.tasks[n:])
	b.tasks = b.tasks[:n]
	peer.held, peer.resumed = !peer.resumed, false
}

// execute carries out one request: it checks first, and then copies once.
func (b *burst) execute(t *task) error {
	wr, peer := t.wr, b.from.peer
	switch wr.Op {
	case transport.OpWrite:
		err := peer.Table.Write(wr.Remote.STag, wr.Remote.Offset, wr.Local)
		if err == nil {
			b.sent += uint64(t.bytes)
		}
		return err
	case transport.OpRead:
		err := peer.Table.Read(wr.Local, wr.Remote.STag, wr.Remote.Offset)
		if err == nil {
			b.read += uint64(t.bytes)
		}
		return err
	case transport.OpInvalidate:
		b.from.Table.End(wr.Invalidate)
		return nil
	}
	switch {
	case t.receive == nil:
		return transport.ErrNoReceive
	case t.bytes > transport.TotalLen(t.receive.Local):
		return transport.ErrTooLong
	}
	m := transport.Message{
		Receive:   t.receive,
		Len:       t.bytes,
		Solicited: wr.Flags&transport.Solicited != 0,
	}
	if wr.Op == transport.OpSendInvalidate {
		if err := peer.Table.Invalidate(wr.Invalidate); err != nil {
			return err
		}
		m.Invalidated, m.HasInvalidate = wr.Invalidate, true
	}
	stag.Copy(t.receive.Local, wr.Local)
	b.sent += uint64(t.bytes)
	b.messages = append(b.messages, m)
	return nil
}

// fail ends the connection because of an operation, and returns the error of that operation.
func (b *burst) fail(op transport.Op, err error) error {
	from := b.from
	here := from.opError(op.String(), fmt.Errorf("%w: %w", transport.ErrTerminated, err))
	there := from.peer.opError(op.String(), err)
	from.link.mu.Lock()
	defer from.link.mu.Unlock()
	from.link.end(from, here, there)
	return here
}
