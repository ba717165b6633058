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
	dialer   *Dialer
	from     Addr // the dialing end
	private  []byte

	mu      sync.Mutex    // guards the fields below until decided is closed
	decided chan struct{} // closed once there is an outcome
	ep      *endpoint     // of the dialing end
	err     error
	gone    bool // the dialer gave up
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
func (r *request) Accept(ctx context.Context, private []byte) (transport.Endpoint, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("accept", r.from, err)
	}
	var ep *endpoint
	err := r.decide(private, func(private []byte) {
		ep, r.ep = connect(r, private)
	})
	if err != nil {
		return nil, opError("accept", r.from, err)
	}
	return ep, nil
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
	case r.ep != nil || r.err != nil:
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
	if r.ep == nil && r.err == nil {
		r.gone = true
		r.err = reason
	}
}
