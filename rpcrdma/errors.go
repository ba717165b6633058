package rpcrdma

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
)

// answered wraps an error that came with the peer's answer: oncrpc.ErrAnswered.
type answered struct{ error }

func (e answered) Unwrap() error        { return e.error }
func (e answered) Is(target error) bool { return target == oncrpc.ErrAnswered }

// notSent wraps why a call was not posted.
func notSent(err error) error { return fmt.Errorf("%w: %w", oncrpc.ErrNotSent, err) }

// OpError says which operation failed, and with which peer.
type OpError struct {
	Op   string   // "dial", "serve", "accept", "call", "fetch" or "connection to"
	Peer net.Addr // may be nil; for "serve" and "accept" the listener's address
	Err  error
}

func (e *OpError) Error() string {
	if e.Peer == nil {
		return "rpcrdma " + e.Op + ": " + e.Err.Error()
	}
	return fmt.Sprintf("rpcrdma %s %v: %v", e.Op, e.Peer, e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, as net.Error does.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// PeerError is an RDMA_ERROR: the peer did not understand a call's header or chunks, or could not
// return the reply in them.
//
// What an ERR_CHUNK means depends on the call:
//
//   - RDMA_MSG without read chunks: the reply does not fit (RFC 8166 section 4.5.3). The call's
//     error then wraps a *oncrpc.ReplyTooLongError beside the *PeerError.
//   - With read chunks: the reply does not fit, the call is longer than the peer accepts, or the
//     peer makes no RDMA Reads.
//   - RDMA_MSGP: the peer may not know that message type.
type PeerError struct {
	Code      ErrCode
	Low, High uint32 // with ERR_VERS: the versions that the peer supports
}

func (e *PeerError) Error() string {
	if e.Code == ErrVers {
		return fmt.Sprintf("peer answered RDMA_ERROR: %v: it speaks versions %d to %d",
			e.Code, e.Low, e.High)
	}
	if e.Code == ErrChunk {
		return fmt.Sprintf("peer answered RDMA_ERROR: %v: it did not understand the message "+
			"(do both ends use the same dialect?), or the reply is longer than the request's "+
			"MaxReply or Results allow, or the call or the reply is longer than the peer's own "+
			"limit (Config.MaxMessage)", e.Code)
	}
	return fmt.Sprintf("peer answered RDMA_ERROR: %v", e.Code)
}

var (
	// ErrStalled: the peer has not done its part of a call within Config.PeerTimeout.
	ErrStalled = errors.New(
		"peer does not answer RDMA Reads, or does not take replies or read their chunks")
	// ErrCreditsExceeded: the peer sent more calls than it was granted credits for, or replies to
	// no call (draft section 3.3). That ends the connection.
	ErrCreditsExceeded = errors.New("peer exceeds the credits granted to it")
	// ErrProviderLimits: the provider cannot carry what is configured. Its messages are shorter
	// than Config.InlineSend, or its receives have one buffer but Config.Align needs two.
	ErrProviderLimits = errors.New("beyond the limits of the provider")
	// ErrReceiveMemory: a connection was refused because Config.ReceiveMemory, or its host's share
	// of it, has no room for the receives that each connection must have.
	ErrReceiveMemory = memory.ErrNoRoom
)
