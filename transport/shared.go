package transport

// SharedReceiver is the ability of an Endpoint to receive into memory that many
// endpoints share, as a shared receive queue does: receives are promised to the peer,
// and take their memory when a message arrives. So an idle connection holds none,
// however much its peer may send.
//
// A promise counts in Info().RecvDepth as a receive does. Receives of PostRecv are
// used up first; a Send that finds neither is fatal.
type SharedReceiver interface {
	// ShareRecv names where memory for promises comes from. It is called once, before
	// Start and PromiseRecv.
	ShareRecv(src RecvSource)

	// PromiseRecv queues n promises, all of them or none, with the errors of PostRecv.
	PromiseRecv(n int) error

	// ResumeRecv has an endpoint that got no memory ask for it again. It never blocks
	// and calls nobody. It may come at any time, also before the source has returned
	// from the call that it is about. Where nothing is held back it does nothing.
	ResumeRecv()
}

// RecvSource supplies memory for promised receives. The endpoint calls it where it
// calls its MessageHandler, and not beside that: it must not block.
type RecvSource interface {
	// Receive returns memory for a message that begins to arrive. It belongs to the
	// endpoint, as with PostRecv.
	//
	// If there is none it returns nil, provided that Info().CanHold is set. Then the
	// endpoint takes nothing more from its peer that comes after that message, until
	// ResumeRecv, and other endpoints are not held up. That includes the responses to
	// its own RDMA Reads, where these come in one stream with messages: who returns nil
	// must not wait for any, nor hold what others wait for meanwhile. That the peer ends the
	// connection is noticed all the same, so that those who have gone do not wait in front of
	// others.
	//
	// Without CanHold there must be memory for each promise from the time it is made:
	// nil ends the connection.
	Receive() *RecvRequest

	// Ready reports whether Receive is certain to return memory for every promise. If
	// it is not, the endpoint takes little from the network ahead of the message. It is
	// called often. Without CanHold it is always true.
	Ready() bool
}
