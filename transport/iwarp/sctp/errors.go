package sctp

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// What ends associations and sessions.
var (
	// ErrRestarted: the peer has made the association anew.
	ErrRestarted = errors.New("the peer has restarted the association")
	// ErrGone: the peer does not answer.
	ErrGone = errors.New("the peer does not answer")
	// ErrOverrun: more has come than the consumer of a stream has taken (Config.StreamMemory).
	ErrOverrun = errors.New("too much of what the peer has sent is not taken")
	// ErrViolation: the peer has sent what is outside the legal sequences (RFC 5043 section 6.1).
	ErrViolation = errors.New("the peer violates the protocol of DDP over SCTP")
	// ErrNoStream: all streams of an association are in use.
	ErrNoStream = errors.New("no stream is free")
)

// errNoRoom: there are as many associations as there may be.
var errNoRoom = errors.New("no room for another association")

// errClosed is that of what this side has closed.
var errClosed = net.ErrClosed

// AbortError is an association that the peer has aborted, or refused. It wraps
// io.ErrUnexpectedEOF.
type AbortError struct {
	Reason string // as the peer says it; it may be empty
}

func (e *AbortError) Error() string {
	if e.Reason == "" {
		return "aborted by the peer"
	}
	return "aborted by the peer: " + e.Reason
}

func (e *AbortError) Unwrap() error { return io.ErrUnexpectedEOF }

// violation is an ErrViolation about something.
func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrViolation, fmt.Errorf(format, args...))
}
