package gateway

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Gateway passes calls on to a server. Its methods may be called concurrently.
type Gateway struct {
	cfg    Config
	log    *slog.Logger
	server *route            // for programs without a route of their own
	routes map[uint32]*route // by program
	memory *semaphore.Weighted
	pool   sizeclass.Buffers
	calls  sync.Pool
	stats  Stats

	pause    time.Duration // minPause
	patience time.Duration
	draining context.Context
	drain    context.CancelFunc
	workers  workers
	running  sync.WaitGroup // connections and workers

	mu       sync.Mutex // guards what follows
	sessions map[oncrpc.Transport]*session
	closed   bool
}

// New returns a gateway. It connects to the server when the first call comes. Its error is a
// *oncrpc.ConfigError.
func New(cfg Config) (*Gateway, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		cfg:      cfg,
		log:      cfg.Logger,
		server:   &route{Route: Route{Dial: cfg.Dial}},
		routes:   make(map[uint32]*route),
		memory:   semaphore.NewWeighted(cfg.Memory),
		pause:    minPause,
		patience: patience,
		sessions: make(map[oncrpc.Transport]*session),
	}
	for program, r := range cfg.Routes {
		g.routes[program] = &route{Route: r, program: program}
	}
	g.draining, g.drain = context.WithCancel(context.Background())
	g.workers.init()
	return g, nil
}

// lost is how many times a client sends a call before the gateway takes the call or its reply for
// lost, and closes the client's connection. A server may drop a call, which cannot be repeated on
// the same connection. Copies that come while there is no connection to the server do not count.
const lost = 3

// Forward passes a call on, for oncrpc.ServerConfig.Forward. The transport of the calls must have
// no chunks, such as recordmark; calls with chunks are dropped.
func (g *Gateway) Forward(in oncrpc.IncomingCall) {
	d := in.Message()
	p := d.Raw(d.Remaining())
	s := g.session(in)
	if s == nil || d.Finish() != nil || len(p) < 4 {
		in.Drop()
		return
	}
	c := g.newCall(s, in, p)
	if times := s.begin(c.xid); times != first {
		atomic.AddUint64(&g.stats.Duplicates, 1)
		in.Drop()
		c.finish()
		if times == lost {
			g.log.Debug("disconnecting the client: the server does not answer its call",
				"client", s.client.RemoteAddr())
			s.client.Close()
		}
		return
	}
	atomic.AddUint64(&g.stats.Calls, 1)
	atomic.AddUint64(&g.stats.CallBytes, uint64(len(p)))
	g.start(c)
}

// session returns the session of the connection that a call came on. It returns nil if the gateway
// is closed.
func (g *Gateway) session(in oncrpc.IncomingCall) *session {
	conn := in.Conn()
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[conn]; s != nil || g.closed {
		return s
	}
	s := newSession(in.Context(), g, conn)
	g.sessions[conn] = s
	g.running.Add(1)
	context.AfterFunc(s.ctx, func() {
		defer g.running.Done()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.sessions[conn] == s {
			delete(g.sessions, conn)
		}
	})
	return s
}

// run runs f on a goroutine that Close waits for. It returns false if the gateway is closed.
func (g *Gateway) run(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(f)
	return true
}

// Drain gives up calls that wait for a server that cannot be reached, and closes the connections of
// their clients. Later calls do not wait either. Call it before Server.Shutdown, which would wait
// for these calls. Calls that have reached the server go on.
func (g *Gateway) Drain() { g.drain() }

// Close closes the connections of the clients. It returns when the connections to the server have
// ended and no call is under way. Call it after Server.Shutdown, which lets calls be answered.
func (g *Gateway) Close() error {
	g.drain()
	g.mu.Lock()
	var conns []oncrpc.Transport
	if !g.closed {
		g.closed = true
		close(g.workers.quit)
		for conn := range g.sessions {
			conns = append(conns, conn)
		}
	}
	g.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	g.running.Wait()
	return nil
}
