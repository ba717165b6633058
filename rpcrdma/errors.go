package rpcrdma

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// answered is an error that comes of an answer of the peer's.
type answered struct{ error }

func (e answered) Unwrap() error        { return e.error }
func (e answered) Is(target error) bool { return target == oncrpc.ErrAnswered }

// OpError says what was being done with whom when Err happened.
type OpError struct {
	Op   string // "dial", "serve", "accept", "call", "reply", "fetch"
	Peer net.Addr
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

// PeerError is an RDMA_ERROR: the peer could not make sense of a call's header or chunks, or
// could not return the reply through them.
//
// An ERR_CHUNK that answers a call without read chunks, sent as RDMA_MSG, means that the reply does
// not fit, since this end has made the header (RFC 8166 section 4.5.3): the error of the call wraps
// a *oncrpc.ReplyTooLongError beside the *PeerError then. One that answers a call with read chunks
// may also mean that the call is longer than the peer takes, or that the peer makes no RDMA Reads;
// and one that answers an RDMA_MSGP, that the peer does not know it. The *PeerError is alone then.
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
		return fmt.Sprintf("peer answered RDMA_ERROR: %v: it cannot make sense of the message "+
			"(is it set to the same dialect?), or the reply is longer than the request's MaxReply "+
			"or Results allow for, or the call or its reply than its own limit (Config.MaxMessage)",
			e.Code)
	}
	return fmt.Sprintf("peer answered RDMA_ERROR: %v", e.Code)
}

var (
	// ErrXID: rdma_xid is not the XID of the RPC message (draft section 4.1).
	ErrXID = fmt.Errorf("%w: rdma_xid differs from the XID of the message", ErrMalformed)
	// ErrReplyReadList: a reply with a read list, which RFC 8166 does not allow (section 3.5.1).
	ErrReplyReadList = fmt.Errorf("%w: read list in a reply: the peer speaks the draft's dialect",
		ErrMalformed)
	// ErrRoundUp: a reply whose write chunk is returned longer than it was offered, by its
	// round-up, which only the draft counts (section 3.7).
	ErrRoundUp = errors.New("round-up counted in a write chunk: the peer speaks the draft's dialect")
	// ErrCreditsExceeded: the peer has sent more than it was granted credits for (draft section
	// 3.3), calls or replies that nobody asked for, which ends the connection.
	ErrCreditsExceeded = errors.New("peer exceeds the credits granted to it")
	// ErrProviderLimits: the provider cannot carry what is configured: its messages are shorter
	// than Config.InlineSend, or its receives have one buffer where Config.Align needs two.
	ErrProviderLimits = errors.New("beyond the limits of the provider")
	// ErrReceiveMemory: a connection was refused as Config.ReceiveMemory has no room for the
	// receives that each must have.
	ErrReceiveMemory = errors.New("no memory for the receives of another connection")
)
