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
	// Procedures are indexed by number. A procedure without a Handler is unavailable, except
	// procedure 0, which then does nothing (RFC 5531 section 12.1).
	Procedures []Procedure
	// Authorize, if set, is called before each call except those of procedure 0. It returns an
	// *AuthError to deny the call. Otherwise it returns the context for the handler, which may
	// carry what it found out; nil means ctx. Authorize may block. So the program's handlers,
	// except procedure 0, run on workers even if they are NonBlocking.
	//
	// A call that is answered from the reply cache is not authorized again, because the cached
	// execution was authorized for the same caller.
	Authorize func(ctx context.Context, c *Call) (context.Context, error)
	// Replay, if set, replaces the server's reply cache for the procedures marked Once.
	Replay ReplayPolicy
	// Share, if set, returns the share to which a call belongs. Shares divide the places for
	// running handlers (ServerConfig.MaxConcurrent). Give each resource that may hang, such as a
	// disk, its own share: calls that hang there leave places for other calls. Calls of share 0,
	// and of programs without Share, have a share of their own. There may be a few hundred shares,
	// and callers must not be able to make up new ones. Share is called before the handler. It must
	// not block, and must decode from a copy of c.Args. A panic is like one of the handler.
	Share func(c *Call) uint64
}

// Procedure is one procedure of a program.
type Procedure struct {
	Name    string // for logs
	Handler Handler
	// NonBlocking handlers run on the goroutine that received the call, so they must return soon
	// and wait for nothing. Calls whose bulk arguments have not arrived never run there. Over an
	// in-process provider, that goroutine may be inside a call or a fetch of its own. So do not
	// hold a lock during a call or a fetch if a non-blocking handler takes it.
	NonBlocking bool
	// Once marks a procedure that must not run twice when a client loses its connection and repeats
	// the call, such as NFS's CREATE, REMOVE and WRITE. The server keeps the replies for a while
	// (ServerConfig.ReplyMemory). Two calls are copies if these are equal: the transaction id; the
	// caller (IP address; over TCP the port; flavour; and Identity); the program, version and
	// procedure; and the arguments, bulk data included if a handler has fetched it.
	//
	// If one copy has been executed, its reply answers later ones. If one is being executed, others
	// wait. That includes a call that was sent first but arrives late, over the lost connection.
	// Over RDMA, where a client comes back from any port, a reply does not answer a newer
	// connection once the client is known to have got it: that is another client with the same
	// transaction id. docs/embedding.md says which calls are mistaken for copies all the same.
	// The server keeps a reply if the handler returned nil, and if it has at most 4 KiB and no bulk
	// data. An error means that the call was not executed: the error answers that copy alone, and
	// the next copy, waiting or arriving later, is executed.
	//
	// Bulk data that has not arrived (xdr.Bulk) may never arrive. So the handlers of all copies
	// start, and the first whose data arrives goes on. In the others, fetching fails. Therefore a
	// handler must fetch before it changes anything, and must return the error of a failed fetch;
	// that error is not sent to the caller. If such data has further arguments after it, copies
	// cannot be recognized, and every copy is executed.
	Once bool
}

// Handler executes a call: it decodes c.Args, encodes c.Results and returns nil. To answer
// otherwise, it returns ErrGarbageArgs, ErrProcUnavail, an *AuthError or an *AcceptError. Any other
// error is logged and answered with SYSTEM_ERR. So is a *CallError, whatever it wraps: to pass on
// another server's answer, unwrap it first.
//
// An error of c.Args counts as the handler's error. Arguments left undecoded do not, because the
// caller may know a later revision of the program. To reject them, return c.Args.Finish().
//
// The context ends with the connection. A caller's cancellation or deadline is not transmitted. The
// call and what it refers to are valid until the handler returns, so the handler must wait for the
// goroutines that it started. Later use of c.Args, c.Results or bulk data usually panics; see the
// package documentation.
type Handler func(ctx context.Context, c *Call) error

// Call is a call presented to a handler.
type Call struct {
	CallHeader
	// Args decodes the arguments.
	Args *xdr.Decoder
	// Results encodes the results. Bulk data in it may outlive the handler.
	Results *xdr.Encoder
	// Conn is the connection that the call came on.
	Conn Transport

	in         IncomingCall
	origin     *Origin
	proc       *Procedure // nil if there is no such procedure
	prog       *Program   // nil if there is no such program
	server     *Server
	refusal    error     // why it is not executed, or nil
	flavor     *acceptor // still to be asked, or nil
	acceptance Acceptance
	replay     ReplayPolicy // to be told how the call ends, or nil
	resumed    bool         // the policy has let the call run, by OnceCall.Execute
	arrival    OnceCall
	onWorker   bool
	args       xdr.Decoder
	enc        xdr.Encoder
	apart      bool         // enc has only the results; the reply is made in out
	out        *xdr.Encoder // the reply if apart: &short, or one of longReplies
	short      xdr.Encoder
	plain      xdr.Message // the content of enc if apart
	sys        SysCred
	believed   bool   // sys was accepted
	key        []byte // memory for Identity.AppendKey
	inline     []byte // the inline arguments, while they are needed for the replyKey
	once       onceData
	waiting    list.Place[Call] // in the queue for a worker
	place      place            // that it occupies while it runs
}

// Names returns the registered names of the call's program and procedure. If the server lacks
// either, served is false and both names are empty.
func (c *Call) Names() (program, procedure string, served bool) {
	if c.prog == nil || c.proc == nil {
		return "", "", false
	}
	return c.prog.Name, c.proc.Name, true
}

// Origin says which connection the call came on. It is valid for longer than the call.
func (c *Call) Origin() *Origin { return c.origin }

// Identity returns the caller as the flavour identified it. It is valid until the handler returns.
func (c *Call) Identity() Identity {
	if id := c.acceptance.Identity; id != nil {
		return id
	}
	return nobodyInParticular{}
}

// Sys returns the AUTH_SYS credential of the call, and whether AcceptAuthSys accepted one. It is
// valid until the handler returns.
func (c *Call) Sys() (*SysCred, bool) {
	return &c.sys, c.believed
}

// BeginWait is for transports. A transport calls it when a handler on a worker begins to wait for
// the peer, to fetch arguments. The handler then does not count as running until EndWait, so a peer
// that does not answer delays only its own calls.
func (c *Call) BeginWait() { c.server.workers.leave(c.place) }

// Leaves is for transports with credits (Dispatcher.Granted). A transport calls it when the reply
// has its place in the order of those that it sends.
func (c *Call) Leaves() {
	if o, ok := c.arrival.State.(*cachedCall); ok {
		c.arrival.State = nil
		c.server.replies.leaves(o)
	}
}

// EndWait ends what BeginWait began. It waits until the handler has a place to run again
// (ServerConfig.MaxConcurrent).
func (c *Call) EndWait() { c.server.workers.enter(c.place) }

// names returns program and procedure for the log: by name, or else by number.
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

// beginResults prepares for encoding results. They follow the reply header, unless a wrapper or a
// replay policy needs them separately.
func (c *Call) beginResults() {
	a := &c.acceptance
	if c.apart = a.Wrapper != nil || c.replay != nil; !c.apart {
		encodeSuccess(&c.enc, c.XID, &a.Verifier)
	}
}

// owner is a call whose reply the transport is sending.
type owner Call

// Release is called when the reply has been sent.
func (o *owner) Release() { o.server.finished((*Call)(o)) }

func nullProcedure(context.Context, *Call) error { return nil }
