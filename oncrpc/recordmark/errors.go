package recordmark

import (
	"errors"
	"fmt"
	"net"
)

// Errors to check for. An *OpError wraps them, together with net.ErrClosed if the connection has
// ended.
var (
	// ErrClosedByPeer says that the peer closed the connection between two records.
	ErrClosedByPeer = fmt.Errorf("closed by peer: %w", net.ErrClosed)
	// ErrRecordTooLong says that the peer announced a record longer than Config.MaxRecord. The
	// connection ends. A call that is too long to send is a *oncrpc.CallTooLongError instead.
	ErrRecordTooLong = errors.New("record too long")
	// ErrEmptyFragments says that the peer sent a record with more than 1024 empty fragments.
	ErrEmptyFragments = errors.New("too many empty fragments")
	// ErrTooManyCalls says that the peer sent far more calls than Config.MaxInFlight while this end
	// waited for replies, and that they could not be answered within Config.CancelGrace.
	ErrTooManyCalls = errors.New("too many calls from the peer")
	// ErrStalled says that part of a cancelled call had left, and that the peer did not accept the
	// rest within Config.CancelGrace.
	ErrStalled = errors.New("peer does not read")
)

// errMPA is the error if a client mounts over RDMA but at the TCP port. The length of the first
// fragment then reads "MPA ".
var errMPA = fmt.Errorf(
	"%w: the peer speaks iWARP (MPA), not RPC over TCP: iWARP has another port", ErrRecordTooLong)

// errMessageChanged says that a message changed its length after it was queued, because some
// goroutine still encodes it. The connection ends, as the peer would lose the borders between
// messages.
var errMessageChanged = errors.New("message changed while it was sent")

// Why a record is dropped.
var (
	errShortRecord = errors.New("record too short for an RPC message")
	errMessageType = errors.New("neither call nor reply")
)

// Each package has its own OpError. Its type and text say which layer failed.

// OpError says which operation failed, with which peer, and why.
type OpError struct {
	Op   string   // "dial", "accept", "call", "serve", "read", "write", "close"
	Peer net.Addr // peer of the connection, or address of the listener for "accept"; may be nil
	Err  error
}

func (e *OpError) Error() string {
	s := "recordmark " + e.Op
	if e.Peer != nil {
		s += " " + e.Peer.String()
	}
	return s + ": " + e.Err.Error()
}

// lost is why a connection ended or cannot be written any more. It matches net.ErrClosed, but its
// text is the cause.
type lost struct{ error }

func (l lost) Unwrap() error        { return l.error }
func (l lost) Is(target error) bool { return target == net.ErrClosed }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, like net.Error.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
