package transport

import (
	"context"
	"io"
)

// WrapListener returns a Listener like l that replaces each new endpoint by what wrap returns for
// it, for example one that counts, limits or logs what passes. The package documentation says under
// Wrappers what such an endpoint must do.
//
// Request.Accept calls wrap on the goroutine of its caller, before the Preparation, which gets what
// wrap returns. The endpoint has not been started, its Info is not complete ([Preparation]), and it
// belongs to wrap. Calls of wrap may be concurrent; wrap must not block, and must not return nil.
//
// The Requests of the Listener have a method Unwrap, by which a provider finds its own.
func WrapListener(l Listener, wrap func(Endpoint) Endpoint) Listener {
	return &wrappedListener{l, wrap}
}

// WrapDialer returns a Dialer like d that replaces each new endpoint by what wrap returns for it.
// Dial calls wrap, under the conditions of WrapListener.
//
// The returned Dialer is an io.Closer. Its Close closes d if d is an io.Closer, and otherwise does
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
func (r *wrappedRequest) Accept(ctx context.Context, prepare Preparation) (Endpoint, error) {
	p := preparingWrapped{r.wrap, prepare, nil}
	_, err := r.Request.Accept(ctx, p.prepare)
	if err != nil {
		return nil, err
	}
	return p.wrapped, nil
}

// preparingWrapped wraps an endpoint before it is prepared.
type preparingWrapped struct {
	wrap    func(Endpoint) Endpoint
	then    Preparation
	wrapped Endpoint
}

func (p *preparingWrapped) prepare(ep Endpoint) (private []byte, err error) {
	p.wrapped = p.wrap(ep)
	return p.then.Prepare(p.wrapped)
}

type wrappedDialer struct {
	Dialer
	wrap func(Endpoint) Endpoint
}

// Dial connects, and wraps the endpoint.
func (d *wrappedDialer) Dial(ctx context.Context, addr string, prepare Preparation) (
	Endpoint, error) {
	p := preparingWrapped{d.wrap, prepare, nil}
	_, err := d.Dialer.Dial(ctx, addr, p.prepare)
	if err != nil {
		return nil, err
	}
	return p.wrapped, nil
}

// Close closes the dialer below.
func (d *wrappedDialer) Close() error {
	if c, ok := d.Dialer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
