package transport

import (
	"context"
	"io"
)

// WrapListener returns l with each endpoint that it makes replaced by what wrap returns for it:
// one that counts, limits or logs what passes, say. What an endpoint that wraps another one must
// see to is said under Wrappers in the documentation of the package.
//
// The function wrap is called by Request.Accept, on the goroutine of its caller, when the
// connection is there. It gets an endpoint that has not been started, and takes it over. It may
// be called concurrently, must not block, and must not return nil.
//
// The Listener is l in all else. Its Requests have Unwrap, so that a provider finds its own below.
func WrapListener(l Listener, wrap func(Endpoint) Endpoint) Listener {
	return &wrappedListener{l, wrap}
}

// WrapDialer returns d with each endpoint that it makes replaced by what wrap returns for it, as
// WrapListener does for a Listener. The function wrap is called by Dial.
//
// The Dialer that is returned is an io.Closer: its Close closes d if d is one, and otherwise does
// nothing.
func WrapDialer(d Dialer, wrap func(Endpoint) Endpoint) Dialer {
	return &wrappedDialer{d, wrap}
}

type wrappedListener struct {
	Listener
	wrap func(Endpoint) Endpoint
}

// Accept returns a request whose Accept wraps.
func (l *wrappedListener) Accept(ctx context.Context) (Request, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &wrappedRequest{r, l.wrap}, nil
}

type wrappedRequest struct {
	Request
	wrap func(Endpoint) Endpoint
}

// Unwrap returns the request below.
func (r *wrappedRequest) Unwrap() Request { return r.Request }

// Accept makes the connection, and wraps its endpoint.
func (r *wrappedRequest) Accept(ctx context.Context, private []byte) (Endpoint, error) {
	ep, err := r.Request.Accept(ctx, private)
	if err != nil {
		return nil, err
	}
	return r.wrap(ep), nil
}

type wrappedDialer struct {
	Dialer
	wrap func(Endpoint) Endpoint
}

// Dial connects, and wraps the endpoint.
func (d *wrappedDialer) Dial(ctx context.Context, addr string, private []byte) (Endpoint, error) {
	ep, err := d.Dialer.Dial(ctx, addr, private)
	if err != nil {
		return nil, err
	}
	return d.wrap(ep), nil
}

// Close closes the dialer below.
func (d *wrappedDialer) Close() error {
	if c, ok := d.Dialer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
