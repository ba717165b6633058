package transport

import (
	"net"
)

// Endpoint is one end of an RDMA connection: a queue pair. Its methods may be called concurrently.
// Only Revoke may block, that is, wait for the peer or for a callback.
//
// The provider calls Completers, MessageHandlers and RecvSources on its own goroutines. They must
// not block. For one endpoint, calls of Received do not overlap each other, and calls of Complete
// do not overlap each other, but a call of Received may overlap one of Complete.
//
// They may end the goroutine that called them, by runtime.Goexit, as a failed test does. That ends
// the connection. Its requests complete as at any end, and other connections are served.
type Endpoint interface {
	// Start begins delivery to r. The caller calls it exactly once, even if the connection has
	// ended already. Before Start the endpoint delivers no message and calls no RecvSource.
	//
	// Requests posted before are carried out as soon as the setup of the connection permits. The
	// endpoint may serve the peer's RDMA Reads and Writes, and take messages into receives: an
	// adapter does, as soon as it is connected. It need not notice before Start that the peer has
	// ended the connection.
	Start(r MessageHandler)

	// Post queues work requests in order, all of them or none. It never blocks and never calls a
	// Completer or MessageHandler itself. It fails
	//
	//   - with ErrQueueFull if they do not fit in Info().SendDepth;
	//   - with ErrWorkRequest if one is malformed, or exceeds MaxSendSGE, MaxReadSGE or MaxMessage
	//     of Info();
	//   - with ErrNoReads if one is an RDMA Read and Info().ORD is 0;
	//   - with an error that wraps net.ErrClosed after the connection has ended.
	//
	// Requests of a failed Post do not complete. The endpoint does not keep the slice wrs, so a
	// caller may reuse one to avoid an allocation. The same holds for PostRecv and Revoke.
	Post(wrs ...*WorkRequest) error

	// PostRecv queues receives in order, all of them or none. It fails like Post; its limits are
	// RecvDepth and MaxRecvSGE of Info().
	PostRecv(rs ...*RecvRequest) error

	// Expose opens windows over the memory in list, as if it were contiguous, and appends their
	// Regions to dst in the order of the memory. Their lengths add up to that of list. A list of
	// one Slice of at most Info().MaxRegion bytes gives one Region. Scattered memory may give
	// several, and a list of no bytes may give none.
	//
	// The endpoint does not keep the list itself. Until every Region has ended, the memory must not
	// be used in a way that clashes with access. When the peer has invalidated a tag, the provider
	// may give it to another Region before the Message that says so is delivered.
	//
	// Expose fails with an error that wraps
	//
	//   - ErrNoMemory if there are no more steering tags;
	//   - ErrWorkRequest if access has neither RemoteRead nor RemoteWrite: adapters have no windows
	//     without rights;
	//   - net.ErrClosed after the connection has ended.
	//
	// Then it returns dst unchanged and nothing stays exposed.
	Expose(dst []Region, list []Slice, access Access) ([]Region, error)

	// Revoke ends windows. When it returns, their steering tags are dead and the provider no longer
	// touches their memory. It ignores windows that have ended already, for example because the
	// peer invalidated them.
	//
	// It may block until an operation of the peer no longer uses the memory. So do not call it from
	// a MessageHandler, a Completer or a RecvSource: post OpInvalidate there. Use Revoke where a
	// goroutine can wait, such as at the end of a call or for a cancellation, and for windows that
	// are left when a connection has ended.
	Revoke(regions ...Region) error

	// Domain returns the Domain that memory for this endpoint comes from.
	Domain() Domain

	// Info describes the connection. It does not change after Dial or Accept has returned.
	Info() Info

	// Close ends the connection. Queued requests are carried out first or flushed: to be sure, wait
	// for their completions before. Close does not wait. Done tells when the provider has completed
	// every request and touches no memory any more.
	Close() error

	// Done is closed when the connection has ended, however it ended, and all
	// completions have been delivered.
	Done() <-chan struct{}

	// Err says why the connection ended. It wraps
	//
	//   - net.ErrClosed after a local Close;
	//   - ErrClosedByPeer after the peer closed;
	//   - ErrGoexit after the upper layer of this end has ended a goroutine of the provider;
	//   - ErrNoReceive, ErrTooLong, ErrTooManyReads or ErrRemoteAccess after an operation that was
	//     not allowed. At the end that posted the operation it wraps ErrTerminated, too.
	//
	// In the last case an end that knows the reason says it, and one that does not know wraps
	// ErrClosedByPeer. With a software provider both ends know; adapters tell one end, or neither.
	//
	// Err returns nil before the end.
	Err() error
}

// Abandoner is an Endpoint that can detach a window from its memory while the peer may still use
// the window. Adapters cannot. Without it, the memory belongs to the window until the peer no
// longer uses that, which often only the end of the connection tells.
type Abandoner interface {
	// Abandon detaches the memory of r. When it returns, the provider no longer touches that
	// memory. The steering tag stays valid until it is revoked or invalidated, locally or by the
	// peer: what the peer writes is discarded, and what it reads comes from a copy taken now.
	// Abandon ignores a window that has ended. Like Revoke, it may block.
	Abandon(r Region) error
}

// ProgressReporter is an Endpoint that reports how many bytes of unfinished transfers have moved.
// Adapters do not. Without it a caller sees only completions and messages, so it must give a peer
// time for a whole transfer before it takes it for dead.
type ProgressReporter interface {
	// Progress returns the bytes moved so far. It may be called at any time, takes no lock, and is
	// cheap enough to be called often.
	Progress() Progress
}

// Progress counts the bytes that have crossed a connection since it was made: messages, RDMA Writes
// and responses to RDMA Reads, with or without headers. It includes at least all that has completed
// or been delivered. The numbers never decrease.
type Progress struct {
	Sent     uint64 // to the peer
	Received uint64 // from the peer
	Read     uint64 // the part of Received that answers RDMA Reads of this end, without headers
}

// Info describes one connection. What only some providers have, such as versions and checksums, is
// in their own packages.
type Info struct {
	Provider string // for example "loopback" or "iwarp"

	// LocalAddr and RemoteAddr are the addresses of the two ends. Layers above recognize a peer
	// that comes from another port by the host in its address. That is the result of the address's
	// method Host() string, if it has one. Otherwise it is the host in its String if that is
	// "host:port", or else the whole String.
	LocalAddr, RemoteAddr net.Addr

	// PrivateData is what the peer sent at setup. Some providers pad it with zeros to the length
	// of their messages, so it must tell its own length if that matters.
	PrivateData []byte

	IRD       int // RDMA Reads that the peer may have outstanding here
	ORD       int // RDMA Reads that may be outstanding at the peer; further ones wait here
	SendDepth int // work requests that can be queued
	RecvDepth int // receives that can be posted

	// Limits of a request. 0 means no limit. Those of elements differ: many iWARP adapters take one
	// for an RDMA Read.
	MaxSendSGE int // elements of Local of a Send or an RDMA Write
	MaxRecvSGE int // elements of Local of a Receive
	MaxReadSGE int // elements of Local of an RDMA Read
	MaxMessage int // bytes of one Send, RDMA Write or RDMA Read

	// Limits of what can be exposed. 0 means no limit.
	MaxRegion  int // bytes of one Region; Expose makes several for more bytes
	MaxRegions int // Regions open at a time

	// EndpointTags says that a steering tag is valid on this connection alone. Otherwise it belongs
	// to the Domain: the peers of all its endpoints can use it.
	EndpointTags bool

	// RemoteInvalidate says that the peer may end windows here that were exposed with the access of
	// that name. Otherwise Expose ignores that access, and a Send with Invalidate may end the
	// connection. So tell the peer that it may send one (RFC 8797 section 4.1) only if this is set.
	RemoteInvalidate bool

	// CanHold says that a RecvSource may return nil, which holds back this connection and no other.
	// An adapter cannot hold back a peer whose RNR retry count is 0, such as Linux.
	CanHold bool
}
