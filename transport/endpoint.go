package transport

import (
	"net"
)

// Endpoint is one end of an RDMA connection: a queue pair. Its methods may be
// called concurrently.
//
// Completers, MessageHandlers and RecvSources are called on goroutines of the provider
// and must not block. Completers and the MessageHandler of one endpoint may be called at the
// same time; calls of Received do not overlap each other, nor do those of Complete. Of the
// methods of Endpoint, Revoke alone may block.
type Endpoint interface {
	// Start begins delivery to r. Until then nothing the peer sends is taken, so
	// that receives can be posted first, nor need the end of the connection by the
	// peer be noticed. It is called once, be it after the end.
	Start(r MessageHandler)

	// Post queues work requests in order, all of them or none. It never blocks and
	// never calls a Completer or MessageHandler itself. It fails
	//
	//   - with ErrQueueFull when they do not fit in Info().SendDepth;
	//   - with ErrWorkRequest when one makes no sense, or is beyond MaxSendSGE,
	//     MaxReadSGE or MaxMessage of Info();
	//   - with ErrNoReads when one is an RDMA Read and Info().ORD is 0;
	//   - with an error that wraps net.ErrClosed after the connection has ended.
	//
	// Requests of a failed Post do not complete. The slice wrs itself is not kept:
	// passing one that the caller keeps avoids an allocation. So it is with PostRecv
	// and Revoke.
	Post(wrs ...*WorkRequest) error

	// PostRecv queues receives in order, all of them or none, with the errors
	// of Post. The limits are RecvDepth and MaxRecvSGE of Info().
	PostRecv(rs ...*RecvRequest) error

	// Expose opens windows over the memory in list, as if that were contiguous, and
	// appends their Regions to dst: one Region, or several, in the order of the
	// memory, where the provider cannot make one of scattered memory. Their lengths
	// add up to that of list. A list of one Slice of at most Info().MaxRegion bytes
	// gives one Region; a list of no bytes may give none.
	//
	// The list itself is not kept. The memory must not be used for anything that
	// would clash with access until every Region has ended. A tag that a peer has
	// invalidated may be that of another Region before the Message says so.
	//
	// Expose fails with an error that wraps ErrNoMemory when there are no more
	// steering tags, and one that wraps net.ErrClosed after the connection has ended.
	// Then dst is returned as it was, and nothing stays exposed.
	Expose(dst []Region, list []Slice, access Access) ([]Region, error)

	// Revoke ends windows. When it returns their steering tags are dead and the
	// memory behind them is no longer touched. A window that the peer has
	// invalidated, or that has ended otherwise, is passed over.
	//
	// It may block until an operation of the peer that is under way has let go of the
	// memory. So it must not be called from a MessageHandler, a Completer or a
	// RecvSource: post OpInvalidate there. It is for cancellation, for a caller who has
	// a goroutine of his own when his call is over, and for what remains when a
	// connection has ended.
	Revoke(regions ...Region) error

	// Domain is where memory for this endpoint comes from.
	Domain() Domain

	// Info describes the connection. It does not change after Start.
	Info() Info

	// Close ends the connection. Requests that are queued are flushed, or carried out before: wait
	// for their completion where that matters. It does not wait: Done tells when the provider has
	// completed every request and touches no memory any more.
	Close() error

	// Done is closed when the connection has ended, however it ended, and all
	// completions have been delivered.
	Done() <-chan struct{}

	// Err says why the connection ended: nil before that, an error that wraps
	// net.ErrClosed after a local Close, ErrClosedByPeer after one of the peer's. An
	// operation that is fatal has both ends learn so, by ErrNoReceive, ErrTooLong,
	// ErrTooManyReads or ErrRemoteAccess; at the end whose operation it was the error
	// wraps ErrTerminated, too.
	Err() error
}

// Abandoner is the ability of an Endpoint to cut a window loose from its memory
// while the peer may still use it.
type Abandoner interface {
	// Abandon detaches the memory of r. When it returns that memory is no longer
	// touched, while the steering tag stays valid until it is revoked or
	// invalidated, locally or by the peer: what arrives is discarded, what is read
	// comes from a copy taken now. A window that has ended is passed over. Like
	// Revoke it may block.
	Abandon(r Region) error
}

// ProgressReporter is the ability of an Endpoint to tell how far transfers have come that are
// still under way. Without it a caller sees completions and messages alone.
type ProgressReporter interface {
	// Progress may be called at any time, takes no lock, and is cheap enough to be called
	// often.
	Progress() Progress
}

// Progress is how many bytes have crossed a connection since it was made: those of messages, RDMA
// Writes and responses to RDMA Reads of either end, and perhaps headers. What has completed or been
// delivered is counted. The numbers never become smaller.
type Progress struct {
	Sent     uint64 // to the peer
	Received uint64 // from the peer
	Read     uint64 // of Received, by RDMA Reads of this end, without headers
}

// Info describes one connection, as far as every provider can. What else two ends
// have agreed on, like versions and checksums, the provider's own package tells.
type Info struct {
	Provider string // "loopback", "iwarp"

	// LocalAddr and RemoteAddr are the two ends. The host part of an address, by which a
	// peer is known again when it comes from another port, is what its method
	// Host() string says, if it has one, and otherwise the host in its String if that is
	// "host:port", or the whole of it. It may be an IP address.
	LocalAddr, RemoteAddr net.Addr

	// PrivateData is what the peer sent at setup. Some providers pad it with zeros up
	// to the length that their messages have: it must tell its own length where that
	// matters.
	PrivateData []byte

	IRD       int // RDMA Reads the peer may have outstanding here
	ORD       int // RDMA Reads that may be outstanding at the peer; more are held back here
	SendDepth int // work requests that can be queued
	RecvDepth int // receives that can be posted

	// What a request may be like. 0 means that there is no limit.
	MaxSendSGE int // elements of Local of a Send or an RDMA Write
	MaxRecvSGE int // elements of Local of a Receive
	MaxReadSGE int // elements of Local of an RDMA Read
	MaxMessage int // bytes of one Send, RDMA Write or RDMA Read

	// What can be exposed. 0 means that there is no limit.
	MaxRegion  int // bytes of one Region; Expose makes several of more
	MaxRegions int // Regions open at a time

	// EndpointTags says that a steering tag is good on this connection alone. Otherwise
	// it belongs to the Domain: the peers of all its endpoints can use it.
	EndpointTags bool

	// CanHold says that a RecvSource may return nil: this connection is held back
	// then, and others are not.
	CanHold bool
}
