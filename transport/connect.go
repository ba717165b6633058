package transport

import (
	"context"
	"net"
)

// Dialer connects to listeners. Its methods may be called concurrently.
//
// A Dialer that has state beyond its configuration, such as a socket that its connections share, is
// an io.Closer, too. Its creator closes it when its connections have ended.
type Dialer interface {
	// Dial connects to addr and sends the private data to the peer. It fails with an error that
	// wraps
	//
	//   - a *RejectError if the peer refuses;
	//   - ErrPrivateData if private is longer than MaxPrivateData;
	//   - the error of ctx if that ends first.
	Dial(ctx context.Context, addr string, private []byte) (Endpoint, error)

	// MaxPrivateData returns how many bytes of private data Dial can send.
	MaxPrivateData() int
}

// Listener accepts connections. Its methods may be called concurrently.
type Listener interface {
	// Accept waits for the next request for a connection. It fails with an error
	// that wraps net.ErrClosed after Close.
	Accept(ctx context.Context) (Request, error)

	// MaxPrivateReply returns how many bytes of private data Request.Accept and Request.Reject can
	// send to any peer. Some peers can take more.
	MaxPrivateReply() (accept, reject int)

	// Addr returns the address to dial.
	Addr() net.Addr

	// Close ends listening. Connections stay.
	Close() error
}

// Request is a peer's request for a connection. Answer it with either Accept or Reject. A Request
// that wraps another one has a method Unwrap() Request, by which a provider finds its own.
type Request interface {
	// Info describes what is known so far: the addresses and the peer's private data.
	Info() Info

	// Accept makes the connection and sends the private data to the peer. After an error that wraps
	// ErrPrivateData the request is still unanswered; the same holds for Reject.
	Accept(ctx context.Context, private []byte) (Endpoint, error)

	// Reject refuses the connection and sends the private data to the peer.
	Reject(private []byte) error
}
