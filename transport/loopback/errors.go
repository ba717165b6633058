package loopback

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var (
	// ErrInUse: another listener has the name.
	ErrInUse = errors.New("address in use")
	// ErrRefused: there is no listener with that name.
	ErrRefused = errors.New("connection refused: no listener")
)

// opError wraps err in a *transport.OpError.
func opError(op string, peer net.Addr, err error) error {
	return &transport.OpError{Op: op, Provider: provider, Peer: peer, Err: err}
}

// ended returns the error of operations after a connection has ended because of cause. It wraps
// net.ErrClosed.
func ended(cause error) error {
	if errors.Is(cause, net.ErrClosed) {
		return cause
	}
	return fmt.Errorf("%w: %w", net.ErrClosed, cause)
}
