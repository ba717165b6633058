package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// connectError is a server that could not be reached, and what may be done about it.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.err }

// endedByPeer reports whether the other end has closed the connection, in order or not.
func endedByPeer(err error) bool {
	return errors.Is(err, recordmark.ErrClosedByPeer) || errors.Is(err, transport.ErrClosedByPeer) || errors.Is(err, connReset) ||
		errors.Is(err, errPipe) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// explainMount says of an error of finding MOUNT what to do next.
func (s *remoteServer) explainMount(err error) error {
	var search *nfsmount.SearchError
	if errors.As(err, &search) && s.target.mountPort == 0 {
		return fmt.Errorf("%w; if it is elsewhere, add ?mountport=PORT to the URL", err)
	}
	return err
}
