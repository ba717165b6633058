package recordmark

import (
	"errors"
	"fmt"
	"net"
)

// What a caller may want to branch on. An *OpError wraps them, and net.ErrClosed beside them if the
// connection has ended.
var (
	// ErrClosedByPeer: the peer closed the connection, between two records.
	ErrClosedByPeer = fmt.Errorf("closed by peer: %w", net.ErrClosed)
	// ErrRecordTooLong: a record that the peer announced is longer than Config.MaxRecord, which
	// ends the connection. A call that is too long to send is a *oncrpc.CallTooLongError.
	ErrRecordTooLong = errors.New("record too long")
	// ErrEmptyFragments: the peer sent a record with more than 1024 empty fragments.
	ErrEmptyFragments = errors.New("too many empty fragments")
	// ErrTooManyCalls: the peer sent far more calls than Config.MaxInFlight while this end
	// waited for replies, and they could not be answered within Config.CancelGrace.
	ErrTooManyCalls = errors.New("too many calls from the peer")
	// ErrStalled: a cancelled call had begun to leave and the peer did not take the
	// rest within Config.CancelGrace.
	ErrStalled = errors.New("peer does not read")
)

// errMPA is what a mount over RDMA at the port that is for TCP looks like: the length of the first
// fragment reads "MPA ".
var errMPA = fmt.Errorf("%w: peer does not speak RPC over TCP: it speaks iWARP (MPA): that is another port", ErrRecordTooLong)

// errMessageChanged: a message is not as long any more as when it was queued, so that somebody who
// encoded it goes on doing so. The connection ends: its peer would take one message for another.
var errMessageChanged = errors.New("message changed while it was sent")

// What is wrong with a record that is dropped.
var (
	errShortRecord = errors.New("record too short for an RPC message")
	errMessageType = errors.New("neither call nor reply")
)

// Each package has an OpError of its own. The type, for errors.As, and the text say which layer
// failed; and each layer knows something else of what it did.

// OpError says what was being done, and with whom, when Err happened.
type OpError struct {
	Op   string   // "dial", "accept", "call", "serve", "read", "write", "close"
	Peer net.Addr // of the connection; the listener's own for "accept"; may be nil
	Err  error
}

func (e *OpError) Error() string {
	s := "recordmark " + e.Op
	if e.Peer != nil {
		s += " " + e.Peer.String()
	}
	return s + ": " + e.Err.Error()
}

// lost is why a connection has ended, or cannot be written to any more: a net.ErrClosed that reads
// as what has happened.
type lost struct{ error }

func (l lost) Unwrap() error        { return l.error }
func (l lost) Is(target error) bool { return target == net.ErrClosed }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, as net.Error does.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
