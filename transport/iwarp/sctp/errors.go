package sctp

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// Errors that end associations and sessions.
var (
	// ErrRestarted: the peer has made the association again, as after a restart.
	ErrRestarted = errors.New("the peer has restarted the association")
	// ErrGone: the peer does not answer.
	ErrGone = errors.New("the peer does not answer")
	// ErrOverrun: more was received than the consumer of a stream took (Config.StreamMemory).
	ErrOverrun = errors.New("stream memory exceeded: the consumer is too slow")
	// ErrViolation: the peer sent something that the legal sequences do not allow (RFC 5043 section
	// 6.1).
	ErrViolation = errors.New("the peer violates DDP over SCTP")
	// ErrNoPort: this host has no UDP port left for another association of a Dialer.
	ErrNoPort = errors.New("no UDP port is free")
	// ErrNoStream: all streams of an association are in use.
	ErrNoStream = errors.New("no stream is free")
)

// errNoRoom: the Listener already has MaxAssociations.
var errNoRoom = errors.New("no room for another association")

// errClosed is the error of what this side has closed.
var errClosed = net.ErrClosed

// AbortError is an association that the peer aborted or refused. It wraps io.ErrUnexpectedEOF.
type AbortError struct {
	Reason string // the peer's words; may be empty
}

func (e *AbortError) Error() string {
	if e.Reason == "" {
		return "aborted by the peer"
	}
	return "aborted by the peer: " + e.Reason
}

func (e *AbortError) Unwrap() error { return io.ErrUnexpectedEOF }

// violation returns an ErrViolation with details.
func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrViolation, fmt.Errorf(format, args...))
}
