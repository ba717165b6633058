package gss

import (
	"fmt"
	"net"
)

// OpError says why the client could not create or destroy a context.
type OpError struct {
	Op     string   // "create context" or "destroy context"
	Target string   // the service
	Peer   net.Addr // the server
	// Err may wrap a *StatusError from this end's mechanism or from the server, an
	// *oncrpc.CallError, or the error of a context.Context.
	Err error
}

func (e *OpError) Error() string {
	return fmt.Sprintf("gss: %s with %s at %v: %v", e.Op, e.Target, e.Peer, e.Err)
}

func (e *OpError) Unwrap() error { return e.Err }
