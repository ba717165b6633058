package transport

// SharedReceiver is an Endpoint that can receive into memory shared with other endpoints, like a
// shared receive queue. Receives are promised to the peer, and get memory only when a message
// arrives. So an idle connection holds none, however much its peer may send.
//
// A promise counts in Info().RecvDepth like a receive. Receives of PostRecv are used up first. A
// Send that finds neither ends the connection.
type SharedReceiver interface {
	// ShareRecv sets the source of memory for promises. The caller calls it once, in a Preparation,
	// before it posts or promises receives: an adapter's queue pair is made with its shared receive
	// queue.
	ShareRecv(src RecvSource)

	// PromiseRecv queues n promises, all of them or none. It fails like PostRecv.
	PromiseRecv(n int) error

	// ResumeRecv makes an endpoint that got no memory ask the source again. It does nothing if
	// nothing is held back. It never blocks and calls nobody. It may be called at any time, even
	// while the source's Receive has not returned yet.
	ResumeRecv()
}

// RecvSource supplies memory for promised receives. The endpoint never calls it at the same time as
// its MessageHandler. It must not block.
type RecvSource interface {
	// Receive returns memory for a message that begins to arrive. It belongs to the endpoint, as
	// with PostRecv.
	//
	// If Info().CanHold is set, it may return nil when there is no memory. Then the endpoint takes
	// nothing from its peer that comes after the beginning of that message, until ResumeRecv. Other
	// endpoints are not held up. Held back are also responses to this end's own RDMA Reads, if they
	// come in one stream with messages. So a source that returns nil must not wait for such a Read,
	// or hold what others wait for meanwhile. The endpoint still notices when the peer ends the
	// connection, so dead peers do not wait ahead of others.
	//
	// Without CanHold, every promise needs memory from the time it is made: nil ends the
	// connection.
	Receive() *RecvRequest

	// Ready reports whether Receive is certain to return memory for every promise. If not, the
	// endpoint reads little from the network ahead of the message. It is called often. Without
	// CanHold it must always return true.
	Ready() bool
}
