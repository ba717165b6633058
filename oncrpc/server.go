package oncrpc

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/stats"
)

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
	stats    ServerStats
	origins  atomic.Uint64 // number of the latest
	nowhere  Origin        // of calls dispatched without Dispatcher.For
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
	// handlers that panicked or ended their goroutine; also Program.Share, Forward and the like
	Panics uint64
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
	now := stats.Load(&s.stats)
	now.InFlight = int(s.inflight.Load() &^ closing)
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Conns = len(s.conns)
	return now
}
