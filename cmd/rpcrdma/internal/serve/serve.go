package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// server is a running serve command.
type server struct {
	cfg     *Config
	log     *slog.Logger
	service *service // nil: nobody can prove who calls
	ports   *Ports
	exports *exportSet
	rpc     *oncrpc.Server
	lookups *oncrpc.Server   // at the port for look-ups
	rpcbind *Registration    // nil: none
	debug   *daemon.HTTPPort // nil: none
	watched *daemon.Monitoring
	tls     *tls.Config // nil: none
}

// Run serves until ctx ends, and then returns nil.
func Run(ctx context.Context, cfg *Config, out io.Writer, log *slog.Logger) (err error) {
	s := &server{cfg: cfg, log: log}
	if s.watched, err = daemon.ListenMonitoring(ctx, cfg.metrics, log); err != nil {
		return err
	}
	defer s.watched.Close()
	said, err := cfg.read(ctx)
	if err != nil {
		return err
	}
	if s.service, err = cfg.openService(said, log); err != nil {
		return err
	}
	// Open the ports first: a second server started by mistake fails here, before it touches the
	// state.
	if s.ports, err = Listen(ctx, cfg, s.service != nil, s.watched.Metrics, log); err != nil {
		return err
	}
	defer s.ports.Close()
	if s.debug, err = daemon.ListenHTTP(ctx, "--debug", cfg.debug, log); err != nil {
		return err
	}
	defer s.debug.Close()
	if err := cfg.changeKeys(log); err != nil {
		return err
	}
	if s.exports, err = openExports(cfg, said, s.service, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.exports.close()) }()
	nfs := s.exports.nfs
	if s.tls, err = cfg.tls.Server(); err != nil {
		return err
	}
	clients, room := daemon.NewClients(log), daemon.FindRoom()
	s.rpc = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: log, MaxConns: room.Conns, ConnBegan: clients.Began, ConnEnded: clients.Ended,
		Interceptors: s.interceptors(), Flavors: s.service.flavors(),
	})
	s.lookups = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: log, MaxConns: room.Lookups, Interceptors: s.watched.Interceptors(),
	})
	s.watched.SetNFS(nfs)
	if s.service != nil {
		s.watched.SetGSS(s.service.flavor)
	}
	s.watched.AddServer("nfs", s.rpc)
	s.watched.AddServer("lookups", s.lookups)
	lookups := rpcbind.Programs(s.ports.Lookups())
	if err := s.lookups.Handle(lookups...); err != nil {
		return err
	}
	if err := s.rpc.Handle(slices.Concat(nfs.Programs(), lookups, cfg.confPrograms(log))...); err != nil {
		return err
	}
	if cfg.rpcbind {
		if s.rpcbind, err = Register(ctx, cfg.registering, s.ports, log); err != nil {
			return err
		}
	}
	s.debug.Serve(daemon.DebugHandler(func() map[string]any {
		return map[string]any{
			"nfs": nfs.Stats(), "rpc": s.rpc.Stats(), "rdma": s.watched.RDMA().Totals(),
			"iwarp": s.watched.IWARP().Stats(), "tcp": s.watched.TCP().Stats(),
			"excluded": s.ports.allowed.Excluded(), "gss": s.service.stats(),
		}
	}))
	s.watched.Serve(s.ports.allowed, nfs.Check)
	var hangups <-chan os.Signal
	if cfg.exportsFile != "" { // whoever has read the greeting may send SIGHUP
		var taken func()
		hangups, taken = cli.TakeHangups()
		defer taken()
	}
	if err := s.greet(out); err != nil {
		s.rpcbind.Withdraw(context.WithoutCancel(ctx), log)
		return err
	}
	if cfg.exportsFile != "" {
		watching, stop := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { s.exports.watch(watching, hangups) })
		defer func() {
			stop()
			watch.Wait()
		}()
	}
	daemon.Notify(log, daemon.Ready)
	return s.run(ctx)
}

// run answers calls until ctx ends or something fails.
func (s *server) run(ctx context.Context) error {
	// Calls under way when ctx ends are Shutdown's to finish.
	background := context.WithoutCancel(ctx)
	ends := make(chan error, len(s.ports.rdma)+len(s.ports.rpcbind)+2)
	running := 0
	for _, l := range s.ports.rdma {
		running++
		go func() {
			ends <- rpcrdma.Serve(background, l, s.rpc, rpcrdma.Config{
				Logger:     s.log,
				InlineSend: int(s.cfg.inline),
				InlineRecv: int(s.cfg.inline),
				Credits:    s.cfg.credits,
				Dialect:    s.cfg.dialect.Value,
				Align:      int(s.cfg.align),
				Counters:   s.watched.RDMA(),
			})
		}()
	}
	for _, l := range s.ports.rpcbind {
		running++
		go func() { ends <- s.serveLookups(background, l) }()
	}
	for _, l := range []net.Listener{s.ports.TCP, s.ports.nfs} {
		if l == nil {
			continue
		}
		running++
		go func() {
			ends <- recordmark.Serve(background, l, s.rpc, recordmark.Config{
				Logger: s.log, TLS: s.tls, Counters: s.watched.TCP(),
			})
		}()
	}
	var err error
	select {
	case <-ctx.Done():
		s.log.Info("draining", "limit", s.cfg.DrainTime)
	case err = <-ends:
		running--
	}
	daemon.Notify(s.log, daemon.Stopping)
	s.watched.Draining.Store(true)
	s.rpcbind.Withdraw(background, s.log) // first, so that no new client comes
	lost := s.drain(background)
	for range running {
		if end := <-ends; !errors.Is(end, oncrpc.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}
	if lost == nil {
		s.log.Info("drained")
	}
	return errors.Join(err, lost)
}

// drain waits for the answers to calls under way.
func (s *server) drain(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.cfg.DrainTime)
	defer cancel()
	if err := errors.Join(s.rpc.Shutdown(limited), s.lookups.Shutdown(limited)); err != nil {
		return fmt.Errorf("calls were still under way after %v, and are lost: %w", s.cfg.DrainTime, err)
	}
	return nil
}
