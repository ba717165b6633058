package roce

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// provider is the name in errors and in Info.
const provider = "roce"

// Errors of Dial, Listen and connections.
var (
	// ErrPortTaken: another process, or the kernel's rdma_rxe, has UDP port 4791 at the local
	// address.
	ErrPortTaken = errors.New(
		"RoCE's UDP port 4791 is taken, by another process or the kernel's rdma_rxe")
	// ErrInUse: another Listener of this process has the service port.
	ErrInUse = errors.New("service port in use")
	// ErrRefused: nobody listens at the service port.
	ErrRefused = errors.New("connection refused: no listener")
	// ErrNoRoCE is an ErrRefused from a host where nobody has UDP port 4791.
	ErrNoRoCE = fmt.Errorf("%w: UDP port 4791 is closed", ErrRefused)
	// ErrPeerTimeout: the peer has not acknowledged what was sent to it, has not gone on with a
	// message, or has not answered a request for a connection.
	ErrPeerTimeout error = timeoutError{}
	// ErrProtocol: the peer has broken the protocol.
	ErrProtocol = errors.New("protocol violation")
)

type timeoutError struct{}

func (timeoutError) Error() string { return "no answer from the peer" }
func (timeoutError) Timeout() bool { return true }

func opError(op string, peer net.Addr, err error) error {
	return &transport.OpError{Op: op, Provider: provider, Peer: peer, Err: err}
}
