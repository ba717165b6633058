package transport

// Op is the operation of a work request.
type Op uint8

// The operations (RFC 5040 section 3; OpInvalidate is the verbs' LOCAL_INV).
const (
	// OpSend sends Local as an untagged message into the peer's next posted receive.
	OpSend Op = iota + 1
	// OpSendInvalidate is OpSend that also ends the peer's steering tag Invalidate.
	OpSendInvalidate
	// OpWrite writes Local to Remote.
	OpWrite
	// OpRead reads Remote into Local.
	OpRead
	// OpInvalidate ends the steering tag Invalidate of this end, in its turn among the
	// requests. When it completes with success the tag is dead, and the memory behind
	// it is its owner's. If it is flushed, that is so when Done is closed.
	//
	// It sends nothing. Once this end has been started and the requests ahead have
	// completed, it completes whatever the peer does, be it before the peer's Start. The
	// setup of a connection alone may hold it up: where that ends with a message, such as
	// the first one of the dialing end (RFC 5044 section 7.1), until that has been taken.
	//
	// A tag that has ended is passed over: the peer may have invalidated it meanwhile.
	// Tags recur, though: post it once for each Region, and not for one that a Message
	// has named as Invalidated.
	OpInvalidate
)

// String returns the name of the operation as errors print it.
func (o Op) String() string {
	switch o {
	case OpSend:
		return "send"
	case OpSendInvalidate:
		return "send with invalidate"
	case OpWrite:
		return "write"
	case OpRead:
		return "read"
	case OpInvalidate:
		return "invalidate"
	}
	return "unknown operation"
}

// Flags modify a work request.
type Flags uint8

const (
	// Signaled asks for a completion on success. Failures always complete.
	Signaled Flags = 1 << iota
	// Fence holds the request back until the RDMA Reads posted before it are
	// complete.
	Fence
	// Solicited marks a Send as one that the receiver should handle at once
	// (Send with Solicited Event).
	Solicited
)

// WorkRequest is one operation posted to an endpoint. It and the list Local, with
// the memory behind it, belong to the endpoint from Post until the request is
// complete; an unsignaled request that succeeds is complete when a later one of
// the same endpoint completes.
type WorkRequest struct {
	Op         Op
	Flags      Flags
	Invalidate STag    // the peer's with OpSendInvalidate, of this end with OpInvalidate
	Remote     Remote  // of OpWrite and OpRead
	Local      []Slice // gathered by OpSend and OpWrite, scattered to by OpRead
	Done       Completer

	// Context is the poster's own.
	Context any
}

// Completer learns how work requests end.
type Completer interface {
	// Complete is called exactly once for each request that was signaled or has
	// failed, in the order in which the requests were posted. A request that never
	// ran because the connection ended completes with an error that wraps
	// ErrFlushed. Complete must not block; it may Post, and it may reuse wr. It is
	// called on a goroutine of the provider's, or one that calls Poll.
	Complete(wr *WorkRequest, err error)
}

// RecvRequest is memory posted for one message from the peer: a scatter list, filled
// in order. It belongs to the endpoint from PostRecv until it is handed to the
// MessageHandler, or until the endpoint's Done channel is closed.
type RecvRequest struct {
	Local []Slice

	// Context is the poster's own.
	Context any
}

// Message is one message that has arrived.
type Message struct {
	Receive *RecvRequest // where it lies; the receiver's own from now on
	Len     int          // bytes

	// Invalidated is the local steering tag that the message ended, when
	// HasInvalidate is set.
	Invalidated   STag
	HasInvalidate bool
	Solicited     bool
}

// MessageHandler takes what arrives at an endpoint.
type MessageHandler interface {
	// Received takes a batch of messages in the order of their arrival: what one
	// read of the provider brought. The calls for one endpoint do not overlap. It
	// must not block; what it posts may leave together when it returns. The slice
	// batch is the provider's again on return, the receives in it are not.
	Received(batch []Message)
}
