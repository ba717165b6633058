package redial

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrStalled says that a connection was closed because no reply arrived for Config.Stall. It wraps
// net.ErrClosed.
var ErrStalled error = stalled{}

// ErrPortLost says that a call with Request.Once was not repeated, because no connection could be
// made from the port of the one that was lost, or of its kind: the server might have executed the
// call twice. It wraps net.ErrClosed.
var ErrPortLost error = portLost{}

type portLost struct{}

func (portLost) Error() string {
	return "connection lost, and none like it can be made: the call may have been executed"
}
func (portLost) Unwrap() error { return net.ErrClosed }

// stalled wraps net.ErrClosed without printing it.
type stalled struct{}

func (stalled) Error() string { return "peer does not answer" }
func (stalled) Unwrap() error { return net.ErrClosed }

// Each package has its own OpError. Its type and text say which layer failed.

// OpError says which operation failed, with which peer, and why.
type OpError struct {
	// Op is "dial" for the first connection, "redial" if none came back, "call" for a call that was
	// not or could not be repeated, and "close" for Conn.Err.
	Op       string
	Peer     net.Addr      // of the latest connection; nil if there was none
	TriedFor time.Duration // how long dialling was tried; 0 means once
	Err      error
}

func (e *OpError) Error() string {
	s := "redial " + e.Op
	if e.Op == "redial" {
		s = "redial"
	}
	if e.Peer != nil {
		s += " " + e.Peer.String()
	}
	if e.TriedFor > 0 {
		s += fmt.Sprintf(": tried for %v", e.TriedFor.Round(time.Millisecond))
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, like net.Error.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
