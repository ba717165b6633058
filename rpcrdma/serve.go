package rpcrdma

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Serve accepts connections from l, as far as oncrpc.ServerConfig.Admit admits them, and answers
// their calls with s. It closes l, and returns when all its connections have ended. The error is
//
//   - oncrpc.ErrServerClosed after s.Shutdown or s.Close;
//   - an *OpError "serve" that wraps the error of ctx, if ctx ended. That ends the connections,
//     too;
//   - an *OpError "accept" if l failed. It wraps net.ErrClosed if l was closed;
//   - a *oncrpc.ConfigError, before anything is accepted.
func Serve(ctx context.Context, l transport.Listener, s *oncrpc.Server, cfg Config) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		l.Close()
		return err
	}
	d := oncrpc.DispatcherOf(s)
	leave, err := d.AddListener(l)
	if err != nil {
		l.Close()
		return err
	}
	defer leave()
	if n, _ := l.MaxPrivateReply(); n < wire.PrivateLen && !cfg.NoPrivateData {
		cfg.Logger.Warn("rpcrdma: private data is too long for some peers", "addr", l.Addr(),
			"bytes", wire.PrivateLen, "possible", n)
	}
	a := acceptor{
		cfg: cfg, dispatcher: d,
		budgets: budgets{
			chunks:   budget.New[incoming](cfg.ServerMemory),
			receives: budget.New[memory.Receives](cfg.ReceiveMemory),
		},
		conns: make(map[*Conn]struct{}),
	}
	cfg.Counters.exists(&a)
	defer cfg.Counters.gone(&a)
	stop := context.AfterFunc(ctx, a.closeConns)
	defer stop()
	err = a.run(ctx, l)
	l.Close()
	a.wait()
	switch {
	case ctx.Err() != nil:
		return &OpError{"serve", l.Addr(), ctx.Err()}
	case s.Closed():
		return oncrpc.ErrServerClosed
	}
	return &OpError{"accept", l.Addr(), err}
}

// acceptor accepts and serves the connections of one Serve.
type acceptor struct {
	cfg        Config
	dispatcher oncrpc.Dispatcher
	budgets    budgets
	wg         sync.WaitGroup

	mu     sync.Mutex // guards what follows
	shared *shared    // what connections of the first one's domain share
	conns  map[*Conn]struct{}
}

// Pauses after a temporary error of Accept, doubled each time.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// run accepts connections until ctx or the listener has ended.
func (a *acceptor) run(ctx context.Context, l transport.Listener) error {
	pause := acceptPauseMin
	for {
		req, err := l.Accept(ctx)
		if err == nil {
			pause = acceptPauseMin
			// Here connections have the order in which a client makes them.
			from := a.dispatcher.For(req.Info().RemoteAddr)
			a.wg.Go(func() { a.serve(ctx, req, from) })
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return err
		}
		a.cfg.Logger.Warn("rpcrdma: accept failed", "addr", l.Addr(), "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

// serve accepts a request, serves its connection, and returns when that has ended.
func (a *acceptor) serve(ctx context.Context, req transport.Request, from oncrpc.Dispatcher) {
	info := req.Info()
	release, err := a.dispatcher.Admit(oncrpc.ConnInfo{
		Provider: info.Provider, Local: info.LocalAddr, Remote: info.RemoteAddr,
	})
	if err != nil {
		a.cfg.Logger.DebugContext(ctx, "rpcrdma: connection not admitted",
			"peer", info.RemoteAddr, "err", err)
		req.Reject(nil)
		return
	}
	defer release()
	var c *Conn
	var refused error
	_, err = req.Accept(ctx, func(ep transport.Endpoint) (private []byte, err error) {
		if c, refused = a.newConn(ep); refused == nil {
			private, refused = c.prepare()
		}
		return private, refused
	})
	if err != nil {
		if c != nil {
			c.unmade()
		}
		if refused == nil {
			a.notMade(ctx, info.RemoteAddr, err)
		} else {
			a.refused(ctx, info.RemoteAddr, refused)
		}
		req.Reject(nil) // in case it is still unanswered
		return
	}
	c.connected()
	a.mu.Lock()
	a.conns[c] = struct{}{}
	a.mu.Unlock()
	c.responder.serve(from)
	if ctx.Err() != nil {
		c.ep.Close() // closeConns may have missed this connection
	}
	c.ep.Start(&c.receiver)
	c.watch()
	if !errors.Is(c.ep.Err(), net.ErrClosed) {
		c.logLoss(c.Err())
	}
	a.mu.Lock()
	delete(a.conns, c)
	a.mu.Unlock()
}

// notMade logs why the provider has not made a connection.
func (a *acceptor) notMade(ctx context.Context, peer net.Addr, err error) {
	level := slog.LevelDebug // the provider logs faults of the peer
	if errors.Is(err, transport.ErrPrivateData) {
		level = slog.LevelWarn // our fault
	}
	a.cfg.Logger.Log(ctx, level, "rpcrdma: connection not made", "peer", peer, "err", err)
}

// refused logs and counts a connection that this end does not want.
func (a *acceptor) refused(ctx context.Context, peer net.Addr, err error) {
	const what = "rpcrdma: connection refused"
	if errors.Is(err, ErrProviderLimits) { // the configuration is at fault
		a.cfg.Logger.Log(ctx, slog.LevelWarn, what, "peer", peer, "err", err)
		return
	}
	a.cfg.faults.Fault(peer, what, errors.Is(err, ErrReceiveMemory), "err", err)
	a.cfg.Counters.refused()
}

func (a *acceptor) newConn(ep transport.Endpoint) (*Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := ep.Domain()
	if a.shared == nil {
		a.shared = newShared(d)
	}
	shared := a.shared
	if shared.Domain() != d {
		shared = newShared(d)
	}
	c, err := newConn(ep, &a.cfg, shared, a.budgets)
	if err != nil {
		return nil, err
	}
	if a.cfg.LimitBackwardCalls {
		c.caller.limit()
	}
	if shared != a.shared {
		c.leaveShared = shared.Close
	}
	return c, nil
}

// addTo adds the memory of a Serve.
func (a *acceptor) addTo(t *Totals) {
	t.Memory += a.budgets.chunks.Taken()
	t.MemoryLimit += a.budgets.chunks.Size()
	t.ReceiveMemory += a.budgets.receives.Taken()
	t.ReceiveMemoryLimit += a.budgets.receives.Size()
}

// closeConns closes all connections.
func (a *acceptor) closeConns() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.conns {
		c.ep.Close()
	}
}

// wait waits for all connections to end.
func (a *acceptor) wait() {
	a.wg.Wait()
	if a.shared != nil {
		a.shared.Close()
	}
}
