package xdr

import (
	"errors"
	"fmt"
)

// Errors of a stream. A [DecodeError] wraps one of these.
var (
	ErrShort    = errors.New("stream too short")
	ErrLimit    = errors.New("length over the limit")
	ErrPadding  = errors.New("round-up is not zero")
	ErrValue    = errors.New("value out of range")
	ErrTrailing = errors.New("bytes left over")
	ErrChunk    = errors.New("bulk data does not agree with the stream")
)

// DecodeError says where decoding failed.
type DecodeError struct {
	Position int // bytes into the stream
	Err      error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("xdr: at byte %d: %v", e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// lateUse is the likely reason why an ended stream is used.
const lateUse = ": was it kept by a goroutine that outlived the handler of its call?"
