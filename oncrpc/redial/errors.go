package redial

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrStalled: no reply came over a connection for Config.Stall, and it was closed. It wraps
// net.ErrClosed.
var ErrStalled error = stalled{}

// stalled wraps net.ErrClosed and does not print it.
type stalled struct{}

func (stalled) Error() string { return "peer does not answer" }
func (stalled) Unwrap() error { return net.ErrClosed }

// Each package has an OpError of its own. The type, for errors.As, and the text say which layer
// failed; and each layer knows something else of what it did.

// OpError says what was being done, and with whom, when Err happened.
type OpError struct {
	// Op is "dial" for the first connection, "redial" when none came back, "call" for a call that
	// was not or could not be sent again, "close" for what Conn.Err returns.
	Op       string
	Peer     net.Addr      // of the latest connection; nil if there was none
	TriedFor time.Duration // how long it was tried to connect; 0: once
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

// Timeout reports whether the cause was a timeout, as net.Error does.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
