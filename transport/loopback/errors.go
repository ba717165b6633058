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
	// ErrRefused: nobody listens under the name, or not any more.
	ErrRefused = errors.New("connection refused: no listener")
)

// opError wraps err for the caller of op.
func opError(op string, peer net.Addr, err error) error {
	return &transport.OpError{Op: op, Provider: provider, Peer: peer, Err: err}
}

// ended returns what operations fail with after a connection has ended for the
// reason cause: an error that wraps net.ErrClosed.
func ended(cause error) error {
	if errors.Is(cause, net.ErrClosed) {
		return cause
	}
	return fmt.Errorf("%w: %w", net.ErrClosed, cause)
}
