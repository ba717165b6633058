package transporttest

import (
	"context"
	"io"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// WrapListener returns l with each endpoint that it makes replaced by what wrap returns for it: one that
// records, holds back or fails what passes, say.
func WrapListener(l transport.Listener, wrap func(transport.Endpoint) transport.Endpoint) transport.Listener {
	return &wrappedListener{l, wrap}
}

// WrapDialer is WrapListener for the other end. Its Close closes d, if that is an io.Closer.
func WrapDialer(d transport.Dialer, wrap func(transport.Endpoint) transport.Endpoint) transport.Dialer {
	return wrappedDialer{d, wrap}
}

type wrappedListener struct {
	transport.Listener
	wrap func(transport.Endpoint) transport.Endpoint
}

func (l *wrappedListener) Accept(ctx context.Context) (transport.Request, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return wrappedRequest{r, l.wrap}, nil
}

type wrappedRequest struct {
	transport.Request
	wrap func(transport.Endpoint) transport.Endpoint
}

// Unwrap returns the request below.
func (r wrappedRequest) Unwrap() transport.Request { return r.Request }

func (r wrappedRequest) Accept(ctx context.Context, private []byte) (transport.Endpoint, error) {
	ep, err := r.Request.Accept(ctx, private)
	if err != nil {
		return nil, err
	}
	return r.wrap(ep), nil
}

type wrappedDialer struct {
	transport.Dialer
	wrap func(transport.Endpoint) transport.Endpoint
}

// Close closes the dialer below.
func (d wrappedDialer) Close() error {
	if c, ok := d.Dialer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (d wrappedDialer) Dial(ctx context.Context, addr string, private []byte) (transport.Endpoint, error) {
	ep, err := d.Dialer.Dial(ctx, addr, private)
	if err != nil {
		return nil, err
	}
	return d.wrap(ep), nil
}

// Full is an endpoint with all that a provider may offer beside what it must.
type Full interface {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	transport.Poller
	transport.Progress
}

// WithoutSharedReceives returns ep as one that is no transport.SharedReceiver: its receives have their memory when they are posted.
// It has no Unwrap, by which one would be found.
func WithoutSharedReceives(ep Full) transport.Endpoint { return posting{ep, ep, ep, ep} }

type posting struct {
	transport.Endpoint
	transport.Abandoner
	transport.Poller
	transport.Progress
}
