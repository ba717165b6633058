package iwarp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// provider is the name in errors and in Info.
const provider = "iwarp"

func opError(op string, peer net.Addr, err error) error {
	return &transport.OpError{Op: op, Provider: provider, Peer: peer, Err: err}
}

// byPeer adds transport.ErrClosedByPeer to an error of the LLP if that is what it means.
func byPeer(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return transport.ErrClosedByPeer
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.ErrClosedPipe): // of a net.Pipe
		return fmt.Errorf("%w: %w", transport.ErrClosedByPeer, err)
	}
	return err
}
