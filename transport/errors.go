package transport

import (
	"errors"
	"fmt"
	"net"
)

// Errors that callers may check with errors.Is. Providers wrap them in an *OpError.
var (
	// ErrQueueFull: the queue has no room for the requests.
	ErrQueueFull = errors.New("queue full")
	// ErrFlushed: the request did not run because the connection ended.
	ErrFlushed = errors.New("flushed: connection ended")
	// ErrClosedByPeer: the peer closed the connection.
	ErrClosedByPeer error = closedByPeer{}
	// ErrNoReceive: a Send arrived and no receive was posted.
	ErrNoReceive = errors.New("no posted receive")
	// ErrTerminated: the peer ended the connection because of an operation of this end. An error
	// with it also wraps what was wrong, if the provider knows. The peer's own error wraps only the
	// latter.
	ErrTerminated = errors.New("terminated by peer")
	// ErrTooLong: a Send arrived that is longer than the posted receive.
	ErrTooLong = errors.New("message longer than the posted receive")
	// ErrRemoteAccess: an operation named a steering tag that does not permit it. A provider that
	// knows more wraps ErrSTag, ErrBounds or ErrAccess, each of which is an ErrRemoteAccess to
	// errors.Is.
	ErrRemoteAccess = errors.New("remote access error")
	// ErrSTag: the steering tag is dead, unknown, or of another endpoint.
	ErrSTag error = accessError("invalid steering tag")
	// ErrBounds: the bytes lie outside the window of the steering tag.
	ErrBounds error = accessError("outside the bounds of the steering tag")
	// ErrAccess: the window does not permit this access.
	ErrAccess error = accessError("access not permitted by the steering tag")
	// ErrGoexit: the upper layer of this end has ended the goroutine on which the provider called
	// it, by runtime.Goexit.
	ErrGoexit = errors.New("the upper layer has ended the goroutine that called it")
	// ErrNoReads: an RDMA Read was posted on a connection whose ORD is 0.
	ErrNoReads = errors.New("RDMA Reads not possible: ORD is 0")
	// ErrTooManyReads: more RDMA Reads arrived than the IRD allows.
	ErrTooManyReads = errors.New("more RDMA Reads under way than the IRD allows")
	// ErrNoMemory: the provider has no more memory or steering tags.
	ErrNoMemory = errors.New("out of provider memory")
	// ErrPrivateData: the private data is longer than the provider can carry.
	ErrPrivateData = errors.New("private data too long")
	// ErrWorkRequest: a work request or receive is malformed (unknown operation, no Completer), or
	// exceeds the limits of Info; or a window would have no rights.
	ErrWorkRequest = errors.New("malformed work request")
)

// closedByPeer is a net.ErrClosed whose text names the peer. "Use of closed network connection"
// would read as if this side were at fault.
type closedByPeer struct{}

func (closedByPeer) Error() string        { return "closed by peer" }
func (closedByPeer) Is(target error) bool { return target == net.ErrClosed }

// ClosedError returns the error of operations after a connection has ended because of cause, for a
// provider. It wraps net.ErrClosed and cause.
func ClosedError(cause error) error {
	if errors.Is(cause, net.ErrClosed) {
		return cause
	}
	return fmt.Errorf("%w: %w", net.ErrClosed, cause)
}

// accessError is a particular ErrRemoteAccess.
type accessError string

func (e accessError) Error() string      { return string(e) }
func (accessError) Is(target error) bool { return target == ErrRemoteAccess }

// OpError says which operation of which provider failed, and with which peer.
type OpError struct {
	Op       string // "dial", "accept", "post", "send", "write", "read", "expose", ...
	Provider string
	Peer     net.Addr // may be nil
	Err      error
}

func (e *OpError) Error() string {
	s := e.Provider + " " + e.Op
	if e.Peer != nil {
		s += " " + e.Peer.String()
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, as net.Error does.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// RejectError is a peer's refusal of a connection.
type RejectError struct {
	// PrivateData is what the peer sent with the refusal, perhaps padded with zeros.
	PrivateData []byte
}

func (e *RejectError) Error() string { return "connection rejected by peer" }
