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
	// Dial connects to addr. It calls prepare, if that is not nil, before it asks the peer. It
	// fails with an error that wraps
	//
	//   - a *RejectError if the peer refuses;
	//   - ErrPrivateData if the private data is too long;
	//   - the error of prepare;
	//   - the error of ctx if that ends first.
	Dial(ctx context.Context, addr string, prepare Preparation) (Endpoint, error)

	// MaxPrivateData returns how many bytes of private data Dial can send to any address. More may
	// be possible to some, for example by another adapter.
	MaxPrivateData() int
}

// Listener accepts connections. Its methods may be called concurrently.
type Listener interface {
	// Accept waits for the next request for a connection. It fails with an error
	// that wraps net.ErrClosed after Close.
	Accept(ctx context.Context) (Request, error)

	// MaxPrivateReply returns how many bytes of private data Request.Accept and Request.Reject can
	// send to any peer. More may be possible to some.
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

	// Accept makes the connection. It calls prepare, if that is not nil, before it answers the
	// peer, and may then wait until the peer knows, for as long as ctx lasts. After an error of
	// prepare, or one that wraps ErrPrivateData, the request is still unanswered. Another Accept
	// makes another endpoint.
	Accept(ctx context.Context, prepare Preparation) (Endpoint, error)

	// Reject refuses the connection and sends the private data to the peer. After an error that
	// wraps ErrPrivateData the request is still unanswered.
	Reject(private []byte) error
}

// Preparation prepares an end of a connection before its peer may send, and returns the private
// data for the peer. So an upper layer posts the first receives here. To some peers, such as Linux,
// a message that finds no receive ends the connection.
//
// A call of Dial or Accept calls its Preparation at most once, on the same goroutine. It passes the
// endpoint that it will return. Dial has chosen the device by then, and keeps to it.
//
// A Preparation may call Domain, Info, PostRecv, Expose and Revoke, and the methods ShareRecv and
// PromiseRecv. Apart from these, nobody may call anything but Done and Err until Dial or Accept has
// returned. To give up, end the context.
//
// So far Info has the limits of one request and of what can be posted or exposed, at the listening
// end also the addresses and the peer's private data. The rest of it is known when Dial or Accept
// returns.
//
// If the Preparation fails, panics or ends the goroutine, or no connection is made for another
// reason, the endpoint ends by itself, and need not be started. As at any end, its memory is free
// when its Done is closed.
type Preparation func(ep Endpoint) (private []byte, err error)

// Private returns a Preparation that posts nothing and has the peer sent p.
func Private(p []byte) Preparation {
	return func(Endpoint) ([]byte, error) { return p, nil }
}

// Prepare calls the Preparation, for a provider. Without one there is no private data.
func (p Preparation) Prepare(ep Endpoint) (private []byte, err error) {
	if p == nil {
		return nil, nil
	}
	return p(ep)
}

// Connect connects the endpoint ep, for a provider in the operation op, "dial" or "accept". It
// calls the Preparation, and then connect with the private data. If one of them fails or does not
// return, Connect calls discard, which ends ep, with the reason: an *OpError, which it returns.
func (p Preparation) Connect(op string, ep Endpoint, connect func(private []byte) error,
	discard func(error)) (err error) {
	err = ErrGoexit // unless p returns
	defer func() {
		if err != nil {
			info := ep.Info()
			err = &OpError{Op: op, Provider: info.Provider, Peer: info.RemoteAddr, Err: err}
			discard(err)
		}
	}()
	private, err := p.Prepare(ep)
	if err != nil {
		return err
	}
	return connect(private)
}

// AwaitRequest waits for the next request that a listener of a provider has put in ready, for
// Accept. It fails with net.ErrClosed after closed has been closed, and with the error of ctx.
func AwaitRequest[R Request](ctx context.Context, ready <-chan R, closed <-chan struct{}) (
	r R, err error) {
	select { // closed has precedence over a waiting request
	case <-closed:
		return r, net.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	select {
	case r = <-ready:
		return r, nil
	case <-closed:
		return r, net.ErrClosed
	case <-ctx.Done():
		return r, ctx.Err()
	}
}
