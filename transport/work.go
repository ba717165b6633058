package transport

// Op is the operation of a work request.
type Op uint8

// The operations (RFC 5040 section 3; OpInvalidate is the verbs' LOCAL_INV).
const (
	// OpSend sends Local as a message into the peer's next posted receive.
	OpSend Op = iota + 1
	// OpSendInvalidate is an OpSend that also ends the peer's steering tag Invalidate.
	OpSendInvalidate
	// OpWrite writes Local to Remote.
	OpWrite
	// OpRead reads Remote into Local.
	OpRead
	// OpInvalidate ends the steering tag Invalidate of this end, in its turn among the requests.
	// When it completes without error, the tag is dead and its memory is the caller's again. If it
	// is flushed, the same is true once Done is closed.
	//
	// It sends nothing. Once this end has been started and the requests ahead are complete, it
	// completes whatever the peer does, even before the peer's Start. Only connection setup can
	// delay it: if setup ends with a message, such as the first one of the dialing end (RFC 5044
	// section 7.1), it waits until that message has been taken.
	//
	// It ignores a tag that has ended already, for example because the peer invalidated it. But
	// tags are reused: post it once for each Region, and not for one that a Message has named as
	// Invalidated.
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
	// Fence delays the request until all RDMA Reads posted before it are complete.
	Fence
	// Solicited asks the receiver of a Send to handle it at once (Send with Solicited Event).
	Solicited
)

// WorkRequest is one operation posted to an endpoint. The request, its list Local and the memory in
// that belong to the endpoint from Post until the request is complete. A successful request without
// Signaled counts as complete when a later request of the same endpoint completes.
type WorkRequest struct {
	Op         Op
	Flags      Flags
	Invalidate STag    // OpSendInvalidate: a tag of the peer; OpInvalidate: a tag of this end
	Remote     Remote  // for OpWrite and OpRead
	Local      []Slice // gathered by OpSend and OpWrite, scattered to by OpRead
	Done       Completer

	// Context is for the caller's own use.
	Context any
}

// Completer learns how work requests end.
type Completer interface {
	// Complete is called exactly once for each request that was signaled or has failed, in the
	// order in which the requests were posted. A request that did not run because the connection
	// ended completes with an error that wraps ErrFlushed. Complete runs on a goroutine of the
	// provider, or on one that calls Poll. It must not block. It may Post, and it may reuse wr.
	Complete(wr *WorkRequest, err error)
}

// RecvRequest is memory posted for one message from the peer: a scatter list that is filled in
// order. It belongs to the endpoint from PostRecv until the MessageHandler gets it, or until the
// endpoint's Done channel is closed.
type RecvRequest struct {
	Local []Slice

	// Context is for the caller's own use.
	Context any
}

// Message is one message that has arrived.
type Message struct {
	Receive *RecvRequest // the memory with the message; it belongs to the MessageHandler now
	Len     int          // bytes

	// Invalidated is the local steering tag that the message ended, if HasInvalidate is set.
	Invalidated   STag
	HasInvalidate bool
	Solicited     bool // it was sent so, if the provider can tell; adapters cannot
}

// MessageHandler takes the messages that arrive at an endpoint.
type MessageHandler interface {
	// Received takes a batch of messages in the order of their arrival. A batch is what one read of
	// the provider brought. Calls for one endpoint do not overlap. Received must not block. The
	// provider may collect what it posts and send that when it returns. On return the slice batch
	// belongs to the provider again; the receives in it do not.
	Received(batch []Message)
}
