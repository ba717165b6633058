package oncrpc

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
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
	// Authorize, if set, is asked before each call but those of procedure 0 is executed. It returns
	// an *AuthError to deny it, and otherwise the context that the handler gets: one with what it
	// has found out, or ctx, for which it may return nil. It may block; therefore no handler of the
	// program but procedure 0's is NonBlocking.
	//
	// It need not be asked again for a call that is answered with the results of an earlier copy:
	// those belong to the same caller, to whom their execution was allowed.
	Authorize func(ctx context.Context, c *Call) (context.Context, error)
	// Replay, if set, takes the place of the server's reply cache for the procedures that are Once.
	Replay ReplayPolicy
	// Share, if set, returns whose share of the places for handlers (ServerConfig.MaxConcurrent) a
	// call takes: calls for what may hang, such as a disk, are of one, so that they leave places
	// for the calls of others. Calls of 0, and of programs without Share, are of a share of their
	// own. There can be a few hundred; a caller must not be able to make them up. It is called
	// before the handler: it does not block, and decodes from a copy of c.Args.
	Share func(c *Call) uint64
}

// Procedure is one procedure of a program.
type Procedure struct {
	Name    string // for logs
	Handler Handler
	// NonBlocking handlers run on the goroutine that received the call: they must return soon and
	// wait for nothing. Calls with bulk arguments that are still to be fetched never run there.
	// Over an in-process provider that goroutine may be one that is inside a call or a fetch of its
	// own, so a lock that a non-blocking handler takes must not be held there.
	NonBlocking bool
	// Once procedures must not be executed twice for a call that the client sends again, having
	// lost its connection, as NFS's CREATE, REMOVE and WRITE must not: the server keeps their
	// replies for a while (ServerConfig.ReplyMemory). A call is the same if transaction id, caller
	// (his IP address, whatever the port, his flavour and Identity), program, version, procedure
	// and the first 1 KiB of the arguments are, bulk data included, over whichever of the server's
	// transports it comes.
	//
	// If the first call has been executed, its reply answers the later one. If it is being
	// executed, the later ones wait. That is so as well for one that was sent first and comes late,
	// over the connection that was lost. Kept is a reply that the handler gave by returning nil, of
	// up to 4 KiB and without bulk data. An error means that the call was not executed: it answers
	// its own caller alone, and the same call is executed when it comes again, or if it waits
	// already.
	//
	// Bulk data that is still to be fetched (xdr.Bulk) may never come. Therefore the handlers of
	// all copies begin, and the first one to have its data goes on: that of another gets an error
	// when it fetches, even if its data has come. A handler must fetch before it changes anything,
	// and return the error, or results would be kept of a call that was not executed; what it
	// returns is no answer then. What lies behind such data among the arguments cannot be looked at
	// before that: a call that has arguments there is always executed.
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
// his deadline has passed, is not transmitted. The call and what it refers to are valid until the
// handler returns. A goroutine that uses c.Args or c.Results later panics, and so does one that
// fetches bulk data of the arguments, if it is not too late to be noticed (see the package
// comment): a handler waits for the goroutines that it has started.
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

	in         IncomingCall
	proc       *Procedure // nil: there is none
	prog       *Program   // nil: there is none
	server     *Server
	refusal    error     // why it is not executed
	flavor     *acceptor // to be asked still
	acceptance Acceptance
	replay     ReplayPolicy // to be told how it ends
	arrival    OnceCall
	onWorker   bool
	args       xdr.Decoder
	enc        xdr.Encoder
	apart      bool         // enc has the results alone, which are put into out, behind the header
	out        *xdr.Encoder // of such a reply: short, or one of longReplies
	short      xdr.Encoder
	plain      xdr.Message // what is in enc then
	sys        SysCred
	believed   bool   // sys was accepted
	key        []byte // memory of the identity's
	inline     []byte // the first of the inline arguments, which count in its key
	once       onceSource
	waiting    list.Place[Call] // for a worker
	place      place            // in which it runs
}

// Names returns the names of the program and of the procedure that the call is for, as they were
// registered, and whether the server has both: what a caller has made up has no name.
func (c *Call) Names() (program, procedure string, served bool) {
	if c.prog == nil || c.proc == nil {
		return "", "", false
	}
	return c.prog.Name, c.proc.Name, true
}

// Identity returns who calls, as the flavour of the call has found out. It is valid until the
// handler returns.
func (c *Call) Identity() Identity {
	if id := c.acceptance.Identity; id != nil {
		return id
	}
	return nobodyInParticular{}
}

// Sys returns the AUTH_SYS credential of the call, if it has one that AcceptAuthSys has accepted.
// It is valid until the handler returns.
func (c *Call) Sys() (*SysCred, bool) {
	return &c.sys, c.believed
}

// BeginWait is for transports, and called when the handler of a call, which runs on a worker,
// begins to wait for its peer, to fetch arguments: it does not count as running until EndWait. Thus
// peers that do not answer hold up their own calls alone.
func (c *Call) BeginWait() { c.server.workers.leave(c.place) }

// EndWait ends a BeginWait. It waits until there is a place for the handler again
// (ServerConfig.MaxConcurrent).
func (c *Call) EndWait() { c.server.workers.enter(c.place) }

// names returns program and procedure as they are logged: by name, or else by number.
func (c *Call) names() (program, procedure any) {
	program, procedure = c.Program, c.Procedure
	if c.prog != nil && c.prog.Name != "" {
		program = c.prog.Name
	}
	if c.proc != nil && c.proc.Name != "" {
		procedure = c.proc.Name
	}
	return program, procedure
}

// beginResults prepares for results to be encoded: behind the header, unless somebody is to have
// them alone.
func (c *Call) beginResults() {
	a := &c.acceptance
	if c.apart = a.Wrapper != nil || c.replay != nil; !c.apart {
		encodeSuccess(&c.enc, c.XID, &a.Verifier)
	}
}

// owner is the call that a transport has replied to, when its reply has left.
type owner Call

// Release takes the call back.
func (o *owner) Release() { o.server.finished((*Call)(o)) }

func nullProcedure(context.Context, *Call) error { return nil }
