package recordmark

import "github.com/rpcrdma/go-rpcrdma/xdr"

// outgoing is a message on its way out: a call, or the reply to one.
type outgoing struct {
	msg  *xdr.Message
	len  int       // of msg, bytes
	call *call     // whose message it is, or
	in   *incoming // what it answers

	state      state
	prev, next *outgoing
}

// state says who holds a message.
type state uint8

const (
	idle    state = iota // nobody: not queued yet, written, or given up
	queued               // the queue
	writing              // the sender
)

// queue holds messages in the order in which they shall leave. A cancelled call is
// taken out of the middle.
type queue struct{ first, last *outgoing }

func (q *queue) push(o *outgoing) {
	o.state = queued
	o.prev, o.next = q.last, nil
	if q.last == nil {
		q.first = o
	} else {
		q.last.next = o
	}
	q.last = o
}

func (q *queue) remove(o *outgoing) {
	if o.prev == nil {
		q.first = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		q.last = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.state = idle
	o.prev, o.next = nil, nil
}
