package oncrpc

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Program is one version of an RPC program.
type Program struct {
	Name    string // for logs
	Number  uint32
	Version uint32
	// Procedures by number. One without a Handler is unavailable, except that
	// procedure 0 then does nothing, as RFC 5531 section 12.1 asks of it.
	Procedures []Procedure
	// Authorize, if set, is asked before each call but those of procedure 0. It returns an *AuthError to deny
	// it. It must not block.
	Authorize func(*Call) error
}

// Procedure is one procedure of a program.
type Procedure struct {
	Name    string // for logs
	Handler Handler
	// NonBlocking handlers run on the goroutine that received the call: they must
	// return soon and wait for nothing. Calls with bulk arguments that are still to be fetched
	// never run there. Over an in-process provider that goroutine may be one that is inside a call or a
	// fetch of its own, so a lock that a non-blocking handler takes must not be held there.
	NonBlocking bool
	// Once procedures must not be executed twice for a call that the client sends again, having lost its
	// connection, as NFS's CREATE and REMOVE must not: the server keeps their replies for a while (ServerConfig.ReplyCache). A call
	// is the same if transaction id, caller (his IP address, whatever the port), program, version, procedure, credential (but for the
	// stamp of AUTH_SYS), verifier and inline arguments are, over whichever of the server's transports it comes.
	//
	// If the first call has been executed, its reply answers the later one. If it is being executed, the later one
	// waits; of several the last one, the others are dropped. Kept is a reply that the handler gave by
	// returning nil, of up to 4 KiB and without bulk data. An error means that the call was not executed: it answers
	// its own caller alone, and the same call is executed when it comes again, or if it waits already. A
	// handler whose arguments could not be fetched must return that error and not results, or they are kept.
	Once bool
}

// Handler executes a call: it decodes c.Args, encodes c.Results and returns nil. Other
// outcomes are errors: ErrGarbageArgs, ErrProcUnavail, an *AuthError, an *AcceptError; any
// other error is logged and answered with SYSTEM_ERR, and so is a *CallError, whatever
// it wraps: a handler that passes on what another server said unwraps it.
//
// An error of c.Args counts as the handler's. Arguments that it leaves undecoded do
// not: a caller may know a later revision of the program. A handler that wants none
// left returns c.Args.Finish().
//
// The context ends with the connection, not with the caller's: that he gave the call up, or that
// his deadline has passed, is not transmitted. The call and what it refers to are valid until
// the handler returns.
type Handler func(ctx context.Context, c *Call) error

// Call is a call as a handler sees it.
type Call struct {
	CallHeader
	// Args decodes the arguments.
	Args *xdr.Decoder
	// Results takes the results. Bulk data in it may outlive the handler.
	Results *xdr.Encoder
	// Conn is the connection the call came on.
	Conn Transport

	sys    SysCred
	enc    xdr.Encoder
	in     Incoming
	proc   *Procedure
	prog   *Program
	server *Server
	once   *onceCall // in the server's cache of replies
}

// Sys returns the AUTH_SYS credential of the call, if it has one. It is valid until
// the handler returns.
func (c *Call) Sys() (*SysCred, bool) {
	return &c.sys, c.Cred.Flavor == FlavorSys
}

// Release ends the reply: it is for the transport that sent it.
func (c *Call) Release() { c.server.finished(c) }

func nullProcedure(context.Context, *Call) error { return nil }
