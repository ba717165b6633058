package rpcbind

import (
	"errors"
	"fmt"
)

// Errors to check for. An *OpError wraps them.
var (
	// ErrNotRegistered says that the program is not registered.
	ErrNotRegistered = errors.New("not registered")
	// ErrRefused says that the server did not register or remove a mapping, because another mapping
	// is in its place or because the caller may not.
	ErrRefused = errors.New("refused")
)

// Each package has its own OpError. Its type and text say which layer failed.

// OpError says which operation failed and why.
type OpError struct {
	Op      string       // "dial", "set", "unset", "getaddr", "getversaddr", "dump", "getport"
	Mapping fmt.Stringer // the Mapping or PortMapping concerned, or nil
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

// Timeout reports whether the cause was a timeout, like net.Error.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

func opError(op string, m fmt.Stringer, err error) error { return &OpError{op, m, err} }
