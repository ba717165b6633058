package oncrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ServerConfig configures a Server. The zero value is usable. NewServer panics if a field is out of
// range.
type ServerConfig struct {
	// Logger logs faults and failures; nil means slog.Default().
	Logger *slog.Logger
	// MaxConcurrent is the number of handlers that may run at the same time, 1 or more; 0 means
	// 256. NonBlocking handlers do not count. A handler that fetches arguments from its peer
	// (xdr.Bulk) gives up its place meanwhile, and waits for a place again afterwards. So it must
	// not hold a lock while it fetches that other handlers wait for.
	//
	// Calls beyond the limit wait; the transports limit how many there can be. A free place goes to
	// the peer host (ConnInfo.Host) with the fewest running handlers. Calls of one host start in
	// the order of their arrival; handlers that have already started go first. With several shares
	// (Program.Share), each share gets at most three times as many places as are left free, and a
	// free place first goes to the share with the fewest running handlers.
	MaxConcurrent int
	// MaxConns is the number of connections that Serve functions keep open, over all listeners, 1
	// or more; 0 means 1024. A peer host (ConnInfo.Host) that has some gets another only if it then
	// has no more than remain free. So a single host can have half of them, and a new host always
	// finds some free. A connection that finds no place is closed or, over RDMA, rejected
	// (ErrTooManyConns).
	MaxConns int
	// ReplyMemory is the memory in bytes for replies of procedures marked Procedure.Once; 0 means
	// 16 MiB, and a negative value means that no replies are kept. A reply of NFS takes about 500
	// bytes; replies longer than 4 KiB are not kept. A reply is kept for ten minutes, or until
	// memory runs out and its host (ConnInfo.Host) is the one that uses the most. Then the oldest
	// reply of that host's largest procedure goes first. 16 MiB hold the replies of 40,000 WRITEs
	// of NFS: 40 s of 1 MiB each at 1 GiB/s.
	ReplyMemory int64
	// Forward, if set, gets the calls that are not for a registered program, undecoded: those of
	// other programs or RPC versions, and those too short to tell. Without Forward, they are
	// answered with an error. Forward must end each call with Reply or Drop, on any goroutine
	// (IncomingCall). Shutdown waits for that. Forward runs on the goroutine that received the call
	// and must not block.
	Forward func(IncomingCall)
	// Admit, if set, is asked about each connection that a Serve function accepts, before the
	// connection gets memory and before it counts in MaxConns. An error refuses the connection: it
	// is closed, or rejected over RDMA, and the transport logs that at level DEBUG. Otherwise
	// release, unless nil, is called once, when the connection has ended or found no place. Admit
	// must be safe for concurrent use. It must not block, because other connections may wait behind
	// it.
	Admit func(c ConnInfo) (release func(), err error)
	// ConnBegan, if set, is called for each connection that the server begins to serve, before its
	// first call. That includes Transport.Serve. ConnEnded, if set, is called when the connection
	// has ended, with Transport.Err. After an orderly close by the peer, err wraps net.ErrClosed.
	// If the server stops serving a connection that goes on, err is nil. Handlers of the
	// connection's calls may still run then. Neither may block.
	ConnBegan func(t Transport)
	ConnEnded func(t Transport, err error)
	// Flavors are the accepted flavours; calls of others are denied with AUTH_BADCRED. Nil means
	// AcceptAuthNone, AcceptAuthSys and AcceptAuthTLS. A list that is not nil must name those as
	// well if they are wanted. No element may be nil. If two have the same number, the first
	// counts. Flavours of other packages may block, so their calls run on workers, NonBlocking or
	// not.
	Flavors []ServerFlavor
	// Interceptors run around the execution of each call, the first outermost. No element may be
	// nil.
	Interceptors []ServerInterceptor
}

// validate returns a *ConfigError if a field is out of range.
func (c *ServerConfig) validate() error {
	const config = "oncrpc.ServerConfig"
	if c.MaxConcurrent < 0 {
		return &ConfigError{config, "MaxConcurrent", c.MaxConcurrent, "0 or more"}
	}
	if c.MaxConns < 0 {
		return &ConfigError{config, "MaxConns", c.MaxConns, "1 or more, or 0 for the default"}
	}
	for i, f := range c.Flavors {
		if f == nil {
			return &ConfigError{config, fmt.Sprintf("Flavors[%d]", i), nil, "a flavour"}
		}
	}
	for i, f := range c.Interceptors {
		if f == nil {
			return &ConfigError{config, fmt.Sprintf("Interceptors[%d]", i), nil, "a function"}
		}
	}
	return nil
}

// ServerInterceptor runs around the execution of a call. It calls next and returns next's error or
// another one; OutcomeForCaller tells what the caller gets for it. It may pass next another
// context.
//
// Next authorizes the call and runs its handler. Its error is that of either, or what the server
// finds wrong: arguments that cannot be decoded, a missing procedure, a panic, or results that
// cannot be encoded. A call refused earlier, for a missing program or by its flavour, also passes
// through: next returns the refusal, and the caller gets that refusal whatever the interceptor
// returns.
//
// Interceptors do not see:
//
//   - calls whose header cannot be decoded, or of another RPC version;
//   - calls that a flavour answers itself;
//   - calls answered with the results of an earlier copy. If bulk data must be fetched to recognize
//     the copy, next returns an error that wraps ErrDrop;
//   - what happens later: results that the flavour cannot protect, replies longer than the caller's
//     room, and connections that end before the reply is sent.
//
// Authorize runs inside next, and only the handler gets the context that Authorize returns. To
// learn what Authorize found out, put a pointer into the context passed to next.
//
// An interceptor runs on the handler's goroutine, so it must not block for NonBlocking procedures.
// For refused calls and missing procedures it runs on a worker, and may block.
type ServerInterceptor func(ctx context.Context, c *Call, next Handler) error

// Server executes calls of registered programs. Transports bring the calls: rpcrdma.Serve,
// recordmark.Serve, or Transport.Serve. The zero value is a server with the default configuration.
// Do not copy a Server after first use.
type Server struct {
	cfg      ServerConfig
	once     sync.Once // initializes the fields below
	log      *slog.Logger
	programs atomic.Pointer[programs]
	workers  workers
	places   *fair.Shares  // of connections
	faults   *faultlog.Log // writes to log
	calls    callPool
	replies  *replyCache // nil if replies are not kept
	flavors  []acceptor
	handler  Handler            // runs each call, with the interceptors around it
	forward  func(IncomingCall) // ServerConfig.Forward
	stats    serverStats
	inflight atomic.Int64  // pending calls, plus closing after Shutdown
	idle     chan struct{} // closed after Shutdown when no call is pending

	mu        sync.Mutex // guards the fields below
	closed    bool
	listeners map[*io.Closer]struct{} // by pointer, because an io.Closer may not be comparable
	conns     map[*serverConn]struct{}
}

// programs is copied on write, so that a call finds its handler without a lock.
type programs struct {
	byVersion map[[2]uint32]*Program
	versions  map[uint32][2]uint32 // lowest and highest by number
}

// ServerStats counts what a Server has done since it was made.
type ServerStats struct {
	Calls  uint64 // dispatched
	Errors uint64 // answered with something other than SUCCESS
	Panics uint64 // handlers that panicked or ended their goroutine
	// not answered: the server was shutting down, the connection had ended, or another copy of the
	// call was executed
	Dropped   uint64
	Replayed  uint64 // answered with the results of an earlier copy of the call
	Forwarded uint64 // handed to ServerConfig.Forward, whatever the answer
	InFlight  int    // being executed or answered now
	Conns     int    // connections being served now
	Refused   uint64 // connections refused by ServerConfig.Admit
	TooMany   uint64 // connections refused because of ServerConfig.MaxConns
}

type serverStats struct {
	calls, errors, panics, dropped, replayed, forwarded, refused, tooMany atomic.Uint64
}

// NewServer returns a server without programs. It panics with a *ConfigError if a field of cfg is
// out of range.
func NewServer(cfg ServerConfig) *Server {
	if err := cfg.validate(); err != nil {
		panic(err)
	}
	s := &Server{cfg: cfg}
	s.init()
	return s
}

// init initializes a server once, at the latest when the zero value is first used.
func (s *Server) init() {
	s.once.Do(func() {
		cfg := &s.cfg
		s.log, s.forward = cfg.Logger, cfg.Forward
		if s.log == nil {
			s.log = slog.Default()
		}
		s.idle = make(chan struct{})
		s.listeners = make(map[*io.Closer]struct{})
		s.conns = make(map[*serverConn]struct{})
		s.workers.max = cmp.Or(cfg.MaxConcurrent, 256)
		s.workers.run = s.work
		s.places = fair.New(int64(cmp.Or(cfg.MaxConns, 1024)))
		s.faults = faultlog.New(s.log)
		s.flavors = acceptors(cfg.Flavors)
		s.handler = s.intercepted(cfg.Interceptors)
		s.replies = newReplyCache(cmp.Or(cfg.ReplyMemory, 16<<20))
		s.programs.Store(&programs{})
	})
}

// ReplyMemory returns how much memory in bytes the replies kept for repeated calls take, and its
// limit (ServerConfig.ReplyMemory).
func (s *Server) ReplyMemory() (kept, limit int64) {
	s.init()
	if s.replies == nil {
		return 0, 0
	}
	s.replies.mu.Lock()
	defer s.replies.mu.Unlock()
	return s.replies.bytes, s.replies.limit
}

// Handle registers programs. If the server already has one of the same number and version, the
// error wraps ErrAlreadyServed and none is registered. Handle may be called while the server runs.
func (s *Server) Handle(progs ...Program) error { return s.register(progs, false) }

// Replace registers programs, replacing those of the same number and version. It may be called
// while the server runs. Calls that have started continue with the old program.
func (s *Server) Replace(progs ...Program) { _ = s.register(progs, true) }

func (s *Server) register(progs []Program, replace bool) error {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.programs.Load()
	p := &programs{make(map[[2]uint32]*Program), make(map[uint32][2]uint32)}
	maps.Copy(p.byVersion, old.byVersion)
	for _, prog := range progs {
		key := [2]uint32{prog.Number, prog.Version}
		if p.byVersion[key] != nil && !replace {
			return fmt.Errorf("%w: %d version %d", ErrAlreadyServed, prog.Number, prog.Version)
		}
		prog.Procedures = append([]Procedure{}, prog.Procedures...)
		if len(prog.Procedures) == 0 {
			prog.Procedures = make([]Procedure, 1)
		}
		if prog.Procedures[0].Handler == nil {
			prog.Procedures[0] = Procedure{Name: "NULL", Handler: nullProcedure, NonBlocking: true}
		}
		p.byVersion[key] = &prog
	}
	s.workers.mu.Lock()
	for _, prog := range p.byVersion {
		s.workers.bounded = s.workers.bounded || prog.Share != nil
	}
	s.workers.mu.Unlock()
	for k := range p.byVersion {
		v, ok := p.versions[k[0]]
		if !ok {
			v = [2]uint32{k[1], k[1]}
		}
		p.versions[k[0]] = [2]uint32{min(v[0], k[1]), max(v[1], k[1])}
	}
	s.programs.Store(p)
	return nil
}

// Stats returns the server's counters.
func (s *Server) Stats() ServerStats {
	s.init()
	s.mu.Lock()
	conns := len(s.conns)
	s.mu.Unlock()
	return ServerStats{
		Calls:     s.stats.calls.Load(),
		Errors:    s.stats.errors.Load(),
		Panics:    s.stats.panics.Load(),
		Dropped:   s.stats.dropped.Load(),
		Replayed:  s.stats.replayed.Load(),
		Forwarded: s.stats.forwarded.Load(),
		Refused:   s.stats.refused.Load(),
		TooMany:   s.stats.tooMany.Load(),
		InFlight:  int(s.inflight.Load() &^ closing),
		Conns:     conns,
	}
}

// dispatch executes a call. It returns when a non-blocking handler has run; otherwise at once.
func (s *Server) dispatch(in IncomingCall, host hostID) {
	if s.inflight.Add(1)&closing != 0 {
		s.stats.dropped.Add(1)
		in.Drop()
		s.ended()
		return
	}
	s.stats.calls.Add(1)
	if s.forward != nil && !s.serves(in.Message()) {
		s.hand(in)
		return
	}

	c := s.calls.get()
	if c == nil {
		c = &Call{server: s}
		c.arrival.Call, c.acceptance.call = c, c
		c.once.init(c)
	}
	c.enc.Reset()
	c.args = *in.Message()
	c.in, c.place, c.Args, c.Results, c.Conn = in, place{host: host}, &c.args, &c.enc, in.Conn()
	if w, ok := in.(WaitingCall); ok {
		w.Becomes(c)
	}
	if err := c.CallHeader.decode(c.Args); err != nil {
		s.answer(c, err)
		return
	}
	switch f := s.flavorOf(c); {
	case f == nil:
		_ = s.findProgram(c) // for interceptors
		// RFC 5531 section 8.1 leaves the answer open; Linux sends this one
		s.refuse(c, &AuthError{AuthBadCred})
	case f.blocks:
		c.flavor = f
		s.workers.do(c)
	default:
		if err := f.accept(in.Context(), c); err != nil {
			_ = s.findProgram(c)
			s.refuse(c, err)
			return
		}
		s.accepted(c)
	}
}

// flavorOf returns the flavour of a call's credential, or nil.
func (s *Server) flavorOf(c *Call) *acceptor {
	for i := range s.flavors {
		if f := &s.flavors[i]; f.number == c.Cred.Flavor {
			return f
		}
	}
	return nil
}

// findProgram finds the program and procedure of a call. It runs after the flavour has accepted the
// call, so that the answer PROG_UNAVAIL carries the flavour's verifier.
func (s *Server) findProgram(c *Call) error {
	progs := s.programs.Load()
	c.prog = progs.byVersion[[2]uint32{c.Program, c.Version}]
	if c.prog == nil {
		if v, ok := progs.versions[c.Program]; ok {
			return &AcceptError{Stat: ProgMismatch, Low: v[0], High: v[1]}
		}
		return &AcceptError{Stat: ProgUnavail}
	}
	if c.Procedure < uint32(len(c.prog.Procedures)) && c.prog.Procedures[c.Procedure].Handler != nil {
		c.proc = &c.prog.Procedures[c.Procedure]
	}
	return nil
}

// work continues a call on a worker.
func (s *Server) work(c *Call) {
	c.onWorker = true
	if c.refusal != nil {
		s.answer(c, s.call(c))
		return
	}
	f := c.flavor
	if f == nil {
		s.execute(c)
		return
	}
	c.flavor = nil
	if c.in.Context().Err() != nil {
		s.drop(c)
		return
	}
	if err := s.guard(c.in.Context(), c, f.accept, true); err != nil {
		_ = s.findProgram(c)
		s.refuse(c, err)
		return
	}
	s.accepted(c)
}

// accept is Accept as a Handler.
func (a *acceptor) accept(ctx context.Context, c *Call) error {
	err := a.Accept(ctx, &c.acceptance)
	if n := len(c.acceptance.Verifier.Body); n > MaxAuthBody {
		c.acceptance.Verifier = Auth{}
		err = fmt.Errorf("verifier of %d bytes, %d allowed", n, MaxAuthBody)
	}
	return err
}

// accepted continues a call that its flavour has accepted.
func (s *Server) accepted(c *Call) {
	if c.acceptance.answered {
		c.apart, c.acceptance.Wrapper = true, nil
		if err := c.enc.Err(); err != nil {
			s.answer(c, fmt.Errorf("answer of the flavour cannot be encoded: %w", errResults{err}))
			return
		}
		s.reply(c)
		return
	}
	if err := s.findProgram(c); err != nil {
		s.refuse(c, err)
		return
	}
	moves := false // whether the call changes shares after its flavour ran
	if c.prog.Share != nil && c.proc != nil && !c.proc.NonBlocking {
		share := c.prog.Share(c)
		c.place.share, moves = share, c.onWorker && share != c.place.share
	}
	if c.proc != nil && c.proc.Once {
		if c.replay = c.prog.Replay; c.replay == nil && s.replies != nil {
			c.replay = s.replies
		}
		if c.replay != nil && !c.replay.Arrive(&c.arrival) {
			return // do not touch c: it may be another call by now
		}
	}
	if c.onWorker && !moves || !c.onWorker && s.atOnce(c) {
		s.execute(c)
		return
	}
	s.workers.do(c)
}

// atOnce reports whether a call can be executed without blocking.
func (s *Server) atOnce(c *Call) bool {
	if c.proc == nil {
		return len(s.cfg.Interceptors) == 0
	}
	return c.proc.NonBlocking && c.in.Ready() && !c.asks()
}

// asks reports whether Program.Authorize must be asked about the call.
func (c *Call) asks() bool { return c.prog.Authorize != nil && c.Procedure != 0 }

// refuse ends a call that does not get to its procedure.
func (s *Server) refuse(c *Call, err error) {
	c.refusal = err
	if len(s.cfg.Interceptors) > 0 && !c.onWorker {
		s.workers.do(c)
		return
	}
	s.answer(c, s.call(c))
}

// execute runs the handler of a call and answers it. If the connection has ended meanwhile, execute
// drops the call instead. The caller does not know whether that call was executed. It may have
// repeated it already, and made further calls that this one would undo.
func (s *Server) execute(c *Call) {
	if c.in.Context().Err() != nil {
		s.drop(c)
		return
	}
	c.beginResults()
	err := s.call(c)
	switch {
	case c.once.refused:
		s.repeated(c)
	case err != nil:
		s.answer(c, err)
	default:
		s.executed(c)
	}
}

// call runs the handler of a call, with the interceptors around it.
func (s *Server) call(c *Call) error {
	err := s.guard(c.in.Context(), c, s.handler, true)
	if c.refusal != nil {
		return c.refusal // whatever an interceptor returned
	}
	if len(s.cfg.Interceptors) > 0 {
		err = c.outcome(err) // interceptors may have encoded something
	}
	return err
}

// run executes a call, inside the interceptors.
func (s *Server) run(ctx context.Context, c *Call) error {
	switch {
	case c.refusal != nil:
		return c.refusal
	case c.proc == nil:
		return ErrProcUnavail
	case c.asks():
		with, err := c.prog.Authorize(ctx, c)
		if err != nil {
			return err
		}
		if with != nil {
			ctx = with
		}
	}
	return c.outcome(c.proc.Handler(ctx, c))
}

// runGuarded is run for interceptors: it turns a panic into the error that the caller gets.
func (s *Server) runGuarded(ctx context.Context, c *Call) error { return s.guard(ctx, c, s.run, false) }

// intercepted returns run with interceptors around it, the first outermost.
func (s *Server) intercepted(interceptors []ServerInterceptor) Handler {
	if len(interceptors) == 0 {
		return s.run
	}
	h := Handler(s.runGuarded)
	for i := len(interceptors) - 1; i >= 0; i-- {
		intercept, next := interceptors[i], h
		h = func(ctx context.Context, c *Call) error { return intercept(ctx, c, next) }
	}
	return h
}

// outcome returns the error with which a call ends. If the handler's err is nil, it looks for
// errors in arguments and results that the handler may not have noticed.
func (c *Call) outcome(err error) error {
	if err == nil {
		err = c.Args.Err()
	}
	if err == nil && c.enc.Err() != nil {
		err = fmt.Errorf("results cannot be encoded: %w", errResults{c.enc.Err()})
	}
	return err
}

// errResults hides an encoding error from OutcomeForCaller, which would mistake it for an error of
// the arguments.
type errResults struct{ err error }

func (e errResults) Error() string { return e.err.Error() }

// guard runs a handler and turns a panic into an error. If the handler ends the goroutine, guard
// does not return; the outermost guard answers the call.
func (s *Server) guard(ctx context.Context, c *Call, h Handler, outermost bool) (err error) {
	returned := false
	defer func() {
		switch p := recover(); {
		case returned:
		case p != nil:
			err = s.panicked(c, p)
		case outermost:
			s.stats.panics.Add(1)
			s.answer(c, errGoexit)
		}
	}()
	err = h(ctx, c)
	returned = true
	return err
}

// panicked logs that a handler panicked, and returns the error for the caller.
func (s *Server) panicked(c *Call, p any) error {
	s.stats.panics.Add(1)
	program, procedure := c.names()
	s.log.Error("rpc handler panicked", "program", program, "procedure", procedure,
		"peer", c.Conn.RemoteAddr(), "panic", p, "stack", string(debug.Stack()))
	return &AcceptError{Stat: SystemErr}
}

// errGoexit is logged; the caller gets SYSTEM_ERR.
var errGoexit = errors.New("handler has called runtime.Goexit")

// answer answers a call that ends with err.
func (s *Server) answer(c *Call, err error) {
	told := OutcomeForCaller(err)
	if told == ErrDrop {
		s.drop(c)
		return
	}
	s.stats.errors.Add(1)
	var accept *AcceptError
	if errors.As(told, &accept) && accept.Stat == SystemErr && told != err {
		level := slog.LevelError
		if c.in.Context().Err() != nil {
			// the connection's end caused the error, and nobody waits for the reply
			level = slog.LevelDebug
		}
		program, procedure := c.names()
		s.log.Log(c.in.Context(), level, "rpc handler failed", "program", program, "procedure", procedure,
			"peer", c.Conn.RemoteAddr(), "err", err)
	}
	c.enc.Rewind(xdr.Mark{})
	encodeError(&c.enc, c.XID, &c.acceptance.Verifier, told)
	c.apart = false
	c.failed()
	s.reply(c)
}

// reply sends the encoded reply.
func (s *Server) reply(c *Call) {
	e := &c.enc
	if c.apart {
		if !s.assembled(c) {
			return
		}
		e = c.out
	}
	m := e.Message()
	m.Owner = (*owner)(c)
	c.end()
	c.in.Reply(m)
}

// assembled makes the reply from the header and the results. If that fails, it answers the call
// with an error and returns false.
func (s *Server) assembled(c *Call) bool {
	err := s.assemble(c)
	if err != nil {
		c.forgetReply()
		s.answer(c, fmt.Errorf("results cannot be protected: %w", err))
	}
	return err == nil
}

// assemble does the work of assembled.
func (s *Server) assemble(c *Call) error {
	a := &c.acceptance
	c.plain = c.enc.Message()
	c.makeReply()
	encodeSuccess(c.out, c.XID, &a.Verifier)
	if a.Wrapper == nil {
		c.out.Append(&c.plain)
	} else if err := s.guard(c.in.Context(), c, wrapResults, false); err != nil {
		return err
	}
	if err := c.out.Err(); err != nil {
		return errResults{err}
	}
	return nil
}

// wrapResults is Wrap as a Handler.
func wrapResults(_ context.Context, c *Call) error {
	return c.acceptance.Wrapper.Wrap(c.out, &c.plain)
}

// finished takes back a call whose reply has been sent or cannot be sent any more.
func (s *Server) finished(c *Call) {
	if c.apart { // the sent message did not own what the results refer to
		c.plain = c.enc.Message()
		c.plain.Release()
		c.plain = xdr.Message{}
		c.forgetReply()
	}
	c.forget()
	c.CallHeader = CallHeader{}
	c.Conn, c.in = nil, nil
	c.proc, c.prog, c.refusal, c.flavor, c.replay = nil, nil, nil, nil, nil
	c.onWorker, c.apart = false, false
	scratch := c.acceptance.Scratch
	if r, ok := scratch.(xdr.Releaser); ok {
		r.Release()
	}
	c.acceptance = Acceptance{call: c, Scratch: scratch}
	c.arrival.State = nil
	c.inline, c.once.refused = nil, false
	c.sys, c.believed = SysCred{GIDs: c.sys.GIDs}, false
	s.calls.put(c)
	s.ended()
}
