package rpcbind

import (
	"errors"
	"fmt"
)

// What a caller may want to branch on. An *OpError wraps them.
var (
	// ErrNotRegistered: nobody serves that program.
	ErrNotRegistered = errors.New("not registered")
	// ErrRefused: the server does not register or remove a mapping, because there is another one in
	// its place, or because the caller may not.
	ErrRefused = errors.New("refused")
)

// Each package has an OpError of its own. The type, for errors.As, and the text say which layer
// failed; and each layer knows something else of what it did.

// OpError says what could not be done.
type OpError struct {
	Op      string       // "dial", "set", "unset", "getaddr", "getversaddr", "dump", "getport"
	Mapping fmt.Stringer // the Mapping or PortMapping it was about, or nil
	Err     error
}

func (e *OpError) Error() string {
	s := "rpcbind " + e.Op
	if e.Mapping != nil {
		s += " " + e.Mapping.String()
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

func opError(op string, m fmt.Stringer, err error) error { return &OpError{op, m, err} }
