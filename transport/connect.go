package transport

import (
	"context"
	"net"
)

// Dialer connects to listeners. Its methods may be called concurrently.
//
// A Dialer that has state beyond its configuration (an association, a socket that
// its connections share) is an io.Closer, too. Whoever made it closes it, when its
// connections have ended.
type Dialer interface {
	// Dial connects to addr, handing private to the peer. It fails with an error that
	// wraps a *RejectError when the peer refuses, ErrPrivateData when private is
	// longer than MaxPrivateData, and the error of ctx when that ends first.
	Dial(ctx context.Context, addr string, private []byte) (Endpoint, error)

	// MaxPrivateData is how many bytes of private data Dial can hand to the peer.
	MaxPrivateData() int
}

// Listener accepts connections. Its methods may be called concurrently.
type Listener interface {
	// Accept waits for the next request for a connection. It fails with an error
	// that wraps net.ErrClosed after Close.
	Accept(ctx context.Context) (Request, error)

	// MaxPrivateReply is how many bytes of private data can be handed to any peer by
	// Accept and by Reject of a Request. To some peers more may go.
	MaxPrivateReply() (accept, reject int)

	// Addr is where the listener can be reached.
	Addr() net.Addr

	// Close ends listening; connections stay.
	Close() error
}

// Request is a peer that asks for a connection. One of Accept and Reject ends it. One that wraps
// another has a method Unwrap() Request, by which a provider finds its own.
type Request interface {
	// Info describes the connection as far as it is known: addresses and the
	// peer's private data.
	Info() Info

	// Accept makes the connection, handing private to the peer. After an error that
	// wraps ErrPrivateData the request still waits for an answer; so it is with Reject.
	Accept(ctx context.Context, private []byte) (Endpoint, error)

	// Reject refuses it, handing private to the peer.
	Reject(private []byte) error
}
