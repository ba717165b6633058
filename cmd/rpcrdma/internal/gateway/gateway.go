package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// running is a running gateway command.
type running struct {
	cfg     *Config
	log     *slog.Logger
	ports   *serve.Ports
	rpc     *oncrpc.Server
	gateway *gateway.Gateway
	ways    ways
	rpcbind *serve.Registration // nil: none
	debug   *daemon.HTTPPort    // nil: none
	watched *daemon.Monitoring
	trace   *trace.Writer // of all connections; nil: none
}

// run passes calls on until ctx ends, and then returns nil.
func run(ctx context.Context, cfg *Config, out io.Writer, log *slog.Logger) error {
	allowed := daemon.NewAllowed(cfg.allow, log)
	l, err := allowed.Listen(ctx, cfg.listen)
	if err != nil {
		return daemon.ListenError("--listen", cfg.listen, err)
	}
	g := &running{cfg: cfg, log: log, ports: &serve.Ports{TCP: l}, trace: reach.TraceOf(ctx)}
	defer g.ports.Close()
	if g.debug, err = daemon.ListenHTTP(ctx, "--debug", cfg.debug, log); err != nil {
		return err
	}
	defer g.debug.Close()
	if g.watched, err = daemon.ListenMonitoring(ctx, cfg.metrics, log); err != nil {
		return err
	}
	defer g.watched.Close()
	if g.gateway, err = gateway.New(g.config()); err != nil {
		return err
	}
	defer g.gateway.Close()
	clients := daemon.NewClients(log)
	g.rpc = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: log, Forward: g.gateway.Forward, MaxConns: daemon.FindRoom().Conns,
		ConnBegan: clients.Began, ConnEnded: clients.Ended, Interceptors: g.watched.Interceptors(),
	})
	g.watched.SetGateway(g.gateway)
	g.watched.AddServer("gateway", g.rpc)
	programs := append(rpcbind.Programs(g.ports.Lookups()),
		// CONF_RDMA is unavailable over TCP. If the gateway passed it on, its clients would
		// configure the gateway's connections.
		confproto.New(confproto.Config{}), confproto.New(confproto.Config{Program: confproto.ProgramRFC5666}))
	if err := g.rpc.Handle(programs...); err != nil {
		return err
	}
	if cfg.rpcbind {
		if g.rpcbind, err = serve.Register(ctx, cfg.registering, g.ports, log); err != nil {
			return err
		}
	}
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() && len(cfg.allow) == 0 {
		log.Warn("whoever reaches this port may do what the server allows this host: use --allow to say who may")
	}
	g.debug.Serve(daemon.DebugHandler(func() map[string]any {
		return map[string]any{
			"gateway": g.gateway.Stats(), "rpc": g.rpc.Stats(), "rdma": g.watched.RDMA().Totals(),
			"iwarp": g.watched.IWARP().Stats(), "tcp": g.watched.TCP().Stats(),
			"excluded": allowed.Excluded(),
		}
	}))
	g.watched.Serve(allowed, g.reach)
	if err := g.greet(out); err != nil {
		g.rpcbind.Withdraw(context.WithoutCancel(ctx), log)
		return err
	}
	daemon.Notify(log, daemon.Ready)
	return g.run(ctx)
}

// run passes calls on until ctx ends or something fails.
func (g *running) run(ctx context.Context) error {
	// Calls under way when ctx ends are Shutdown's to finish.
	background := context.WithoutCancel(ctx)
	end := make(chan error, 1)
	go func() {
		end <- recordmark.Serve(background, g.ports.TCP, g.rpc,
			recordmark.Config{
				Logger: g.log, MaxInFlight: g.cfg.credits.N, Counters: g.watched.TCP(),
			})
	}()
	var probed sync.WaitGroup
	defer probed.Wait()
	looking, stop := context.WithCancel(ctx)
	defer stop()
	probed.Go(func() { g.probe(looking) })
	var failed error
	select {
	case <-ctx.Done():
		g.log.Info("draining", "limit", g.cfg.drainTime)
	case failed = <-end:
		end <- nil
	}
	daemon.Notify(g.log, daemon.Stopping)
	g.watched.Draining.Store(true)
	g.rpcbind.Withdraw(background, g.log) // first, so that no new client comes
	lost := g.drain(background)
	if err := <-end; !errors.Is(err, oncrpc.ErrServerClosed) {
		failed = errors.Join(failed, err)
	}
	g.gateway.Close()
	g.summarize()
	return errors.Join(failed, lost)
}

// drain waits for the answers to calls under way. It drops calls that wait for an unreachable
// server: clients repeat them to the next gateway.
func (g *running) drain(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, g.cfg.drainTime)
	defer cancel()
	g.gateway.Drain()
	if err := g.rpc.Shutdown(limited); err != nil {
		return fmt.Errorf("calls were still under way after %v, and are lost: %w", g.cfg.drainTime, err)
	}
	g.log.Info("drained")
	return nil
}

// summarize logs the totals.
func (g *running) summarize() {
	s := g.gateway.Stats()
	g.log.Info("passed on", "calls", s.Calls, "replies", s.Replies, "dropped", s.Dropped, "duplicates", s.Duplicates,
		"failed", s.Failed, "waited", s.Waited, "connections", s.Dials, "failures", s.DialFailures, "lost", s.Lost,
		slog.Group("bytes", "calls", s.CallBytes, "replies", s.ReplyBytes),
		slog.Group("rdma", g.ways.attrs()...))
}
