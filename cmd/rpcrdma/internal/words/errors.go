package words

import (
	"errors"
	"io"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ConnectError says that a server could not be reached, and what to do about it.
type ConnectError struct {
	text string
	err  error
}

func (e *ConnectError) Error() string { return e.text }

func (e *ConnectError) Unwrap() error { return e.err }

// EndedByPeer reports whether the peer has closed the connection, in order or not.
func EndedByPeer(err error) bool {
	return errors.Is(err, recordmark.ErrClosedByPeer) || errors.Is(err, transport.ErrClosedByPeer) ||
		errors.Is(err, ConnReset) ||
		errors.Is(err, ErrPipe) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
