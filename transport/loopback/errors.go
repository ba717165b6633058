package loopback

import (
	"errors"
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
