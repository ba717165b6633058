package transport

import (
	"context"
	"net"
)

// Endpoint is one end of an RDMA connection: a queue pair. Its methods may be
// called concurrently.
type Endpoint interface {
	// Start begins delivery to r. Until then nothing the peer sends is taken, so
	// that receives can be posted first, nor need the end of the connection by the
	// peer be noticed. It is called once, be it after the end.
	Start(r Receiver)

	// Post queues work requests in order, all of them or none. It never blocks and
	// never calls a Completer or Receiver itself. It fails with ErrQueueFull
	// when they do not fit in Info().SendDepth, and with an error that wraps net.ErrClosed after the
	// connection has ended; requests of a failed Post do not complete. The slice wrs
	// itself is not kept: passing one that the caller keeps avoids an allocation. So
	// it is with PostRecv and Revoke.
	Post(wrs ...*WorkRequest) error

	// PostRecv queues receives in order, all of them or none, with the errors
	// of Post and Info().RecvDepth as the limit.
	PostRecv(rs ...*Receive) error

	// Expose opens a window over the memory in list, as if contiguous, until
	// Revoke. The list itself is not kept.
	Expose(list []Slice, access Access) (Region, error)

	// Revoke ends windows. When it returns their steering tags are dead and the
	// memory behind them is no longer touched. A window that the peer has
	// invalidated, or that has been revoked, is passed over.
	Revoke(regions ...Region) error

	// Domain is where memory for this endpoint comes from.
	Domain() Domain

	// Info describes the connection. It does not change after Start.
	Info() Info

	// Close ends the connection. It does not wait: Done tells when the provider
	// has completed every request and touches no memory any more.
	Close() error

	// Done is closed when the connection has ended, however it ended, and all
	// completions have been delivered.
	Done() <-chan struct{}

	// Err says why the connection ended: nil before that, an error that wraps
	// net.ErrClosed after a local Close, ErrClosedByPeer after one of the peer's. An operation that
	// is fatal has both ends learn what was wrong; at that whose operation it was the error wraps ErrTerminated, too.
	Err() error
}

// Abandoner is the ability of an Endpoint to cut a window loose from its memory
// while the peer may still use it.
type Abandoner interface {
	// Abandon detaches the memory of r. When it returns that memory is no longer
	// touched, while the steering tag stays valid until Revoke or an invalidation
	// by the peer: what arrives is discarded, what is read comes from a
	// copy taken now. A window that has ended is passed over.
	Abandon(r Region) error
}

// Info describes one connection, as far as every provider can. What else two ends have agreed on, like versions and
// checksums, the provider's own package tells.
type Info struct {
	Provider    string // "loopback", "iwarp"
	LocalAddr   net.Addr
	RemoteAddr  net.Addr
	PrivateData []byte // what the peer sent at setup

	IRD       int // RDMA Reads the peer may have outstanding here
	ORD       int // RDMA Reads that may be outstanding at the peer; more are held back here
	SendDepth int // work requests that can be queued
	RecvDepth int // receives that can be posted
}

// Dialer connects to a listener.
type Dialer interface {
	// Dial connects to addr, handing private to the peer. A refusal by the peer is
	// a *RejectError.
	Dial(ctx context.Context, addr string, private []byte) (Endpoint, error)
}

// Listener accepts connections.
type Listener interface {
	// Accept waits for the next request for a connection. It fails with an error
	// that wraps net.ErrClosed after Close.
	Accept(ctx context.Context) (Request, error)
	Addr() net.Addr
	// Close ends listening; connections stay.
	Close() error
}

// Request is a peer that asks for a connection. One of Accept and Reject ends it.
type Request interface {
	// Info describes the connection as far as it is known: addresses and the
	// peer's private data.
	Info() Info
	// Accept makes the connection, handing private to the peer. After an error that wraps
	// ErrPrivateData the request still waits for an answer.
	Accept(ctx context.Context, private []byte) (Endpoint, error)
	// Reject refuses it, handing private to the peer.
	Reject(private []byte) error
}
