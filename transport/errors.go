package transport

import (
	"errors"
	"net"
)

// What a caller may want to branch on. Providers wrap these in an *OpError.
var (
	// ErrQueueFull: the queue has no room for the requests.
	ErrQueueFull = errors.New("queue full")
	// ErrFlushed: the request did not run because the connection ended.
	ErrFlushed = errors.New("flushed: connection ended")
	// ErrClosedByPeer: the peer closed the connection.
	ErrClosedByPeer error = closedByPeer{}
	// ErrNoReceive: a Send arrived and no receive was posted.
	ErrNoReceive = errors.New("no posted receive")
	// ErrTerminated: the peer ended the connection because of an operation of this
	// end. What was wrong with it is wrapped beside it, where the provider knows; the
	// peer has that alone.
	ErrTerminated = errors.New("terminated by peer")
	// ErrTooLong: a Send arrived that is longer than the posted receive.
	ErrTooLong = errors.New("message longer than the posted receive")
	// ErrRemoteAccess: an operation named a steering tag that does not permit it. Every
	// provider tells that. One that knows more wraps ErrSTag, ErrBounds or ErrAccess,
	// and each of those is an ErrRemoteAccess to errors.Is.
	ErrRemoteAccess = errors.New("remote access error")
	// ErrSTag: a steering tag that is dead, unknown, or of another endpoint.
	ErrSTag error = accessError("invalid steering tag")
	// ErrBounds: bytes outside the window of a steering tag.
	ErrBounds error = accessError("outside the bounds of the steering tag")
	// ErrAccess: an access that the window does not permit.
	ErrAccess error = accessError("access not permitted by the steering tag")
	// ErrNoReads: an RDMA Read on a connection whose ORD is zero.
	ErrNoReads = errors.New("RDMA Reads not possible: ORD is 0")
	// ErrTooManyReads: more RDMA Reads arrived than the IRD allows.
	ErrTooManyReads = errors.New("more RDMA Reads under way than the IRD allows")
	// ErrNoMemory: the provider has no more memory or steering tags.
	ErrNoMemory = errors.New("out of provider memory")
	// ErrPrivateData: private data longer than the provider can carry.
	ErrPrivateData = errors.New("private data too long")
	// ErrWorkRequest: a work request or receive that makes no sense (unknown operation,
	// no Completer), or is beyond the limits of Info.
	ErrWorkRequest = errors.New("malformed work request")
)

// closedByPeer is a net.ErrClosed that does not read as if this side were at fault.
type closedByPeer struct{}

func (closedByPeer) Error() string        { return "closed by peer" }
func (closedByPeer) Is(target error) bool { return target == net.ErrClosed }

// accessError is a particular ErrRemoteAccess.
type accessError string

func (e accessError) Error() string      { return string(e) }
func (accessError) Is(target error) bool { return target == ErrRemoteAccess }

// OpError says what was being done, by which provider and with whom, when Err
// happened.
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
	// PrivateData is what the peer sent with it, perhaps padded with zeros.
	PrivateData []byte
}

func (e *RejectError) Error() string { return "connection rejected by peer" }
