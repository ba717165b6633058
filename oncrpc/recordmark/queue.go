package recordmark

import (
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// outgoing is a message to send: a call, or the reply to one.
type outgoing struct {
	msg  *xdr.Message
	len  int       // of msg in bytes
	call *call     // the call whose message it is, or nil
	in   *incoming // the call that it answers, or nil

	state state
	place list.Place[outgoing]
}

// state says who holds a message.
type state uint8

const (
	idle    state = iota // nobody: not queued yet, written, or cancelled
	queued               // the queue
	writing              // the sender
)

// queue holds messages in the order in which they leave. A cancelled call is removed from the
// middle.
type queue struct{ list.List[outgoing] }

func (q *queue) push(o *outgoing) {
	o.state = queued
	q.Push(&o.place, o)
}

func (q *queue) remove(o *outgoing) {
	o.state = idle
	q.Remove(&o.place)
}

// pop removes and returns the first message, or returns nil.
func (q *queue) pop() *outgoing {
	o := q.First()
	if o != nil {
		q.remove(o)
	}
	return o
}
