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
	// Logger takes what goes wrong; nil means slog.Default().
	Logger *slog.Logger
	// MaxConcurrent is the number of handlers that run at the same time, 1 or more; 0 means 256.
	// Handlers that declare themselves non-blocking do not count. One that fetches arguments from
	// its peer (xdr.Bulk) leaves its place to another call meanwhile, and goes on when there is one
	// again: it must not hold a lock then that other handlers wait for. Further calls wait. A place
	// goes to the peer host (ConnInfo.Host) of which the fewest handlers run; calls of a host wait
	// in the order of their arrival, behind those that have begun. The transports bound how many
	// can. Where programs have several shares (Program.Share), one has three times as many places
	// as are left free at most, and a place goes to the share of which the fewest handlers run
	// first.
	MaxConcurrent int
	// MaxConns is the number of connections that the Serve functions keep open for the server, over
	// all listeners, 1 or more; 0 means 1024. Of these, a peer host (ConnInfo.Host) that has some
	// gets another only while it then has no more than are left: a host alone a half of them, each
	// of many less, and always some remain for one that has none. A connection that finds no place
	// is closed, over RDMA rejected, at once (ErrTooManyConns).
	MaxConns int
	// ReplyMemory is the memory in bytes for replies of procedures that must be executed once
	// (Procedure.Once); 0 means 16 MiB, less than 0 that none are kept. A reply of NFS takes some
	// 500 bytes; those longer than 4 KiB are not kept. A reply is kept for ten minutes, or until
	// its host, by ConnInfo.Host, has more of the memory than any other and newer ones to keep: the
	// oldest of the procedure that has most go first. So 16 MiB are for 40,000 WRITEs of NFS, which
	// are 40 s of 1 MiB each at 1 GiB/s, and for all REMOVEs of the ten minutes if there are fewer.
	ReplyMemory int64
	// Forward, if set, takes the calls that are not for the programs registered, undecoded, instead
	// of their being answered with an error: those of other programs and of other versions of RPC,
	// and those that are too short to tell. It ends each by Reply or Drop, as IncomingCall says, on
	// any goroutine. Until then Shutdown waits for it. It runs on the goroutine that received the
	// call, and must not block.
	Forward func(IncomingCall)
	// Admit, if set, is asked about each connection that a Serve function accepts, over whichever
	// listener, before it is given any memory, and before it counts in MaxConns. An error refuses
	// it: over TCP it is closed, over RDMA rejected, and the transport logs it at level DEBUG.
	// Otherwise release, unless nil, is called once, when the connection has ended, or there was no
	// place for it. It may be called concurrently, and must not block, as it may hold up further
	// connections.
	Admit func(c ConnInfo) (release func(), err error)
	// ConnBegan and ConnEnded, if set, are told of each connection that the server begins to serve
	// (by Transport.Serve, too), before the first call on it, and of its end, with Transport.Err:
	// nil if it goes on and the server serves it no longer. An orderly close of the peer's is an
	// error that wraps net.ErrClosed. Handlers of its calls may still run then. They must not
	// block.
	ConnBegan func(t Transport)
	ConnEnded func(t Transport, err error)
	// Flavors are the flavours whose calls are accepted; calls of others are denied with
	// AUTH_BADCRED. Nil means AcceptAuthNone, AcceptAuthSys and AcceptAuthTLS, which a longer list
	// has to name, too. None may be nil. Of two of the same number the first counts. Other flavours
	// may block, and so what they accept runs on a worker, NonBlocking or not.
	Flavors []ServerFlavor
	// Interceptors are around the execution of each call, the first outermost. None may be nil.
	Interceptors []ServerInterceptor
}

// validate finds a field that is out of range.
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

// ServerInterceptor is around the execution of a call: it calls next, which returns how the call
// ends (OutcomeForCaller tells what that is to the caller), and returns that, or something else. It
// may give next another context.
//
// Next authorizes the call and runs its handler. It returns what either does, and also what the
// server finds wrong: arguments that cannot be decoded, a procedure that is not there, a panic,
// results that cannot be encoded. A call that is refused before, because there is no such program
// or its flavour denies it, comes along, too: next returns the refusal, and the caller gets that,
// whatever the interceptor returns. Not seen are calls without a header that can be decoded, or of
// another version of RPC; calls that flavours answer themselves; and calls that are answered with
// the results of an earlier copy, unless that shows only when their data has been fetched: next
// returns an error that wraps ErrDrop then. Nor is what comes after the interceptor has returned:
// results that the flavour cannot protect, a reply for which its caller has made no room, a
// connection that ends first.
//
// Authorize runs inside, and the context that it returns is the handler's: an interceptor that
// wants to know what it finds puts a pointer into the context that it gives next.
//
// It runs where the handler does, and so must not block for one that is NonBlocking. For a call
// that is refused, or of a procedure that is not there, it runs on a worker, and may.
type ServerInterceptor func(ctx context.Context, c *Call, next Handler) error

// Server executes calls of the programs registered with it. Transports bring the calls:
// rpcrdma.Serve, recordmark.Serve, Transport.Serve. The zero value is a server with the default
// configuration. It must not be copied once it is in use.
type Server struct {
	cfg      ServerConfig
	once     sync.Once // makes what follows
	log      *slog.Logger
	programs atomic.Pointer[programs]
	workers  workers
	places   *fair.Shares  // of connections
	faults   *faultlog.Log // writes to log
	calls    callPool
	replies  *replyCache // nil: none are kept
	flavors  []acceptor
	handler  Handler            // of all calls, with the interceptors
	forward  func(IncomingCall) // nil: nobody
	stats    serverStats
	inflight atomic.Int64  // calls, and closing once there shall be no more
	idle     chan struct{} // closed by the last call behind that

	mu        sync.Mutex // guards what follows
	closed    bool
	listeners map[*io.Closer]struct{} // by pointer, as what one is need not be comparable
	conns     map[*serverConn]struct{}
}

// programs is copied on write, so that a call takes no lock to find its handler.
type programs struct {
	byVersion map[[2]uint32]*Program
	versions  map[uint32][2]uint32 // lowest and highest by number
}

// ServerStats counts what a Server has done since it began.
type ServerStats struct {
	Calls  uint64 // dispatched
	Errors uint64 // answered with something other than SUCCESS
	Panics uint64 // handlers that panicked or ended their goroutine
	// not answered, because the server was shutting down, the connection had ended, or for another
	// copy of the call
	Dropped   uint64
	Replayed  uint64 // answered with the reply to an earlier copy of the call
	Forwarded uint64 // handed to ServerConfig.Forward, whatever the answer
	InFlight  int    // being executed or answered now
	Conns     int    // connections that it serves now
	Refused   uint64 // connections, by ServerConfig.Admit
	TooMany   uint64 // connections refused, for which ServerConfig.MaxConns left no place
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

// init makes what a server consists of, once: its zero value has it made when it is first used.
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

// ReplyMemory returns the memory in bytes of the replies that are kept for calls that come again,
// and its bound (ServerConfig.ReplyMemory).
func (s *Server) ReplyMemory() (kept, limit int64) {
	s.init()
	if s.replies == nil {
		return 0, 0
	}
	s.replies.mu.Lock()
	defer s.replies.mu.Unlock()
	return s.replies.bytes, s.replies.limit
}

// Handle registers programs. If the server has one of the same number and version, it is an error
// that wraps ErrAlreadyServed, and none is registered. It may be called while the server runs.
func (s *Server) Handle(progs ...Program) error { return s.register(progs, false) }

// Replace registers programs, in place of those of the same number and version if there are any.
// It may be called while the server runs: calls that have begun end as they began.
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

// dispatch executes a call: it returns when a non-blocking handler has run, or at once.
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
		// what RFC 5531 section 8.1 leaves open, Linux answers so
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

// flavorOf returns the flavour of the credential of a call, or nil.
func (s *Server) flavorOf(c *Call) *acceptor {
	for i := range s.flavors {
		if f := &s.flavors[i]; f.number == c.Cred.Flavor {
			return f
		}
	}
	return nil
}

// findProgram finds the program of a call, and the procedure if there is such a one. It does so
// when the flavour has accepted the call: the answer that there is no such program has its
// verifier, too.
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

// work goes on with a call on a worker.
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

// accept is Accept in the shape of a Handler.
func (a *acceptor) accept(ctx context.Context, c *Call) error {
	err := a.Accept(ctx, &c.acceptance)
	if n := len(c.acceptance.Verifier.Body); n > MaxAuthBody {
		c.acceptance.Verifier = Auth{}
		err = fmt.Errorf("verifier of %d bytes, %d allowed", n, MaxAuthBody)
	}
	return err
}

// accepted goes on with a call whose flavour has accepted it.
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
	moves := false // to another share than that in which the flavour was asked
	if c.prog.Share != nil && c.proc != nil && !c.proc.NonBlocking {
		share := c.prog.Share(c)
		c.place.share, moves = share, c.onWorker && share != c.place.share
	}
	if c.proc != nil && c.proc.Once {
		if c.replay = c.prog.Replay; c.replay == nil && s.replies != nil {
			c.replay = s.replies
		}
		if c.replay != nil && !c.replay.Arrive(&c.arrival) {
			return // and c may be another call by now
		}
	}
	if c.onWorker && !moves || !c.onWorker && s.atOnce(c) {
		s.execute(c)
		return
	}
	s.workers.do(c)
}

// atOnce reports whether nothing can block in the execution of a call.
func (s *Server) atOnce(c *Call) bool {
	if c.proc == nil {
		return len(s.cfg.Interceptors) == 0
	}
	return c.proc.NonBlocking && c.in.Ready() && !c.asks()
}

// asks reports whether somebody has to authorize the call.
func (c *Call) asks() bool { return c.prog.Authorize != nil && c.Procedure != 0 }

// refuse ends a call before it has come to its procedure.
func (s *Server) refuse(c *Call, err error) {
	c.refusal = err
	if len(s.cfg.Interceptors) > 0 && !c.onWorker {
		s.workers.do(c)
		return
	}
	s.answer(c, s.call(c))
}

// execute runs the handler of a call and answers it, unless its connection has ended while it
// waited. The caller then does not know whether it was executed; he has called again, maybe, and
// gone on to calls that this one would undo.
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
		return c.refusal // whatever an interceptor has made of it
	}
	if len(s.cfg.Interceptors) > 0 {
		err = c.outcome(err) // they may have encoded something
	}
	return err
}

// run executes a call: what interceptors are around.
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

// runGuarded is run for interceptors: they see a panic as the error that it is to the caller.
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

// outcome returns what a call ends with of which the handler has returned err: it may not have
// noticed what is wrong with arguments or results.
func (c *Call) outcome(err error) error {
	if err == nil {
		err = c.Args.Err()
	}
	if err == nil && c.enc.Err() != nil {
		err = fmt.Errorf("results cannot be encoded: %w", errResults{c.enc.Err()})
	}
	return err
}

// errResults hides an encoding error from OutcomeForCaller, which would take it for one of
// the arguments.
type errResults struct{ err error }

func (e errResults) Error() string { return e.err.Error() }

// guard runs a handler, or what is like one; a panic is an error. When it ends the goroutine,
// guard does not return; the outermost one answers the call then.
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

// panicked notes that a handler has panicked, and returns what that is to the caller.
func (s *Server) panicked(c *Call, p any) error {
	s.stats.panics.Add(1)
	program, procedure := c.names()
	s.log.Error("rpc handler panicked", "program", program, "procedure", procedure,
		"peer", c.Conn.RemoteAddr(), "panic", p, "stack", string(debug.Stack()))
	return &AcceptError{Stat: SystemErr}
}

// errGoexit is logged, and means SYSTEM_ERR to the caller.
var errGoexit = errors.New("handler has called runtime.Goexit")

// answer replies to a call with what err means to its caller.
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
			// the connection has ended, and that is why; there is no one to miss the reply
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

// reply sends what was encoded.
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

// assembled puts the results behind the header of the reply. If it cannot, it answers the call with
// that, and reports false.
func (s *Server) assembled(c *Call) bool {
	err := s.assemble(c)
	if err != nil {
		c.forgetReply()
		s.answer(c, fmt.Errorf("results cannot be protected: %w", err))
	}
	return err == nil
}

// assemble is the work of assembled.
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

// wrapResults is Wrap in the shape of a Handler.
func wrapResults(_ context.Context, c *Call) error {
	return c.acceptance.Wrapper.Wrap(c.out, &c.plain)
}

// finished takes a call back whose reply has left or never will.
func (s *Server) finished(c *Call) {
	if c.apart { // what the results refer to was not given back with the message
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
