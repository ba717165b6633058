package loopback

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var (
	errAbandoned = errors.New("the peer has given up")
	errDecided   = errors.New("the request has been accepted or rejected before")
)

// request is a dial that waits for the listener's decision.
type request struct {
	listener *Listener
	link     *link
	cfg      Config    // of the dialing end
	dialing  *endpoint // which is prepared
	from     Addr      // the dialing end
	private  []byte

	mu       sync.Mutex    // guards the fields below until decided is closed
	decided  chan struct{} // closed once there is an outcome
	accepted bool
	err      error
	gone     bool // the dialer gave up
}

// ask asks the listener, and waits for its decision.
func (r *request) ask(ctx context.Context, private []byte) error {
	if len(private) > maxPrivateData {
		return transport.ErrPrivateData
	}
	r.private = bytes.Clone(private)
	l := r.listener
	select {
	case l.backlog <- r:
	case <-l.closed:
		return ErrRefused
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-r.decided:
	case <-ctx.Done():
		r.abandon(ctx.Err())
	}
	return r.err
}

// Info returns the names and the peer's private data.
func (r *request) Info() transport.Info {
	return transport.Info{
		Provider:    provider,
		LocalAddr:   r.listener.addr,
		RemoteAddr:  r.from,
		PrivateData: r.private,
	}
}

// Accept makes the connection. It fails if the dialer has given up.
func (r *request) Accept(ctx context.Context, prepare transport.Preparation) (
	transport.Endpoint, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("accept", r.from, err)
	}
	e := newEndpoint(r.link, describe(r.listener.cfg, r.cfg, r.listener.addr, r.from, r.private))
	err := prepare.Connect("accept", e, func(private []byte) error {
		return r.decide(private, func(private []byte) {
			r.accepted = true
			r.dialing.info = describe(r.cfg, r.listener.cfg, r.from, r.listener.addr, private)
			r.link.connect(e, r.dialing)
		})
	}, e.discard)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Reject refuses the connection.
func (r *request) Reject(private []byte) error {
	err := r.decide(private, func(private []byte) {
		r.err = &transport.RejectError{PrivateData: private}
	})
	if err != nil {
		return opError("reject", r.from, err)
	}
	return nil
}

// decide calls set to record the listener's decision, and wakes the dialer. It fails if the request
// has been decided before, or if private is too long; then it is still undecided.
func (r *request) decide(private []byte, set func(private []byte)) error {
	if len(private) > maxPrivateData {
		return transport.ErrPrivateData
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.gone:
		return errAbandoned
	case r.accepted || r.err != nil:
		return errDecided
	}
	set(bytes.Clone(private))
	close(r.decided)
	return nil
}

// abandon ends the request, if it has not been decided, because the dialer gave up.
func (r *request) abandon(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.accepted && r.err == nil {
		r.gone = true
		r.err = reason
	}
}
