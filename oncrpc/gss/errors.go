package gss

import (
	"fmt"
	"net"
)

// OpError is what went wrong with a context at the client's end.
type OpError struct {
	Op     string   // "create context" or "destroy context"
	Target string   // the service
	Peer   net.Addr // the server
	// Err may wrap a *StatusError, of this end's mechanism or sent by the server, an
	// *oncrpc.CallError, or the error of a context.
	Err error
}

func (e *OpError) Error() string {
	return fmt.Sprintf("gss: %s with %s at %v: %v", e.Op, e.Target, e.Peer, e.Err)
}

func (e *OpError) Unwrap() error { return e.Err }
