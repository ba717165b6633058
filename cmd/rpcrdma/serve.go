package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// server is what a serve command has open.
type server struct {
	cfg     *serveConfig
	log     *slog.Logger
	ports   *ports
	exports *exportSet
	rpc     *oncrpc.Server
	lookups *oncrpc.Server // at the port for look-ups
	rpcbind *registration  // nil: none
	debug   *httpPort      // nil: none
	watched *monitoring
	tls     *tls.Config // nil: none
}

// serve serves until ctx ends, which is success.
func serve(ctx context.Context, cfg *serveConfig, out io.Writer, log *slog.Logger) (err error) {
	s := &server{cfg: cfg, log: log}
	if s.watched, err = listenMonitoring(ctx, cfg.metrics, log); err != nil {
		return err
	}
	defer s.watched.close()
	// The ports come first: a second server by mistake ends here, before it touches state.
	if s.ports, err = listen(ctx, cfg, s.watched.Metrics, log); err != nil {
		return err
	}
	defer s.ports.close()
	if s.debug, err = listenHTTP(ctx, "--debug", cfg.debug, log); err != nil {
		return err
	}
	defer s.debug.close()
	if s.exports, err = openExports(ctx, cfg, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.exports.close()) }()
	nfs := s.exports.nfs
	if s.tls, err = cfg.tls.server(); err != nil {
		return err
	}
	clients := newClients(log)
	s.rpc = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: log, MaxConns: mayHaveConns(), ConnBegan: clients.began, ConnEnded: clients.ended,
		Interceptors: s.interceptors(),
	})
	s.lookups = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: log, MaxConns: maxLookupConns, Interceptors: s.watched.interceptors(),
	})
	s.watched.SetNFS(nfs)
	s.watched.AddServer("nfs", s.rpc)
	s.watched.AddServer("lookups", s.lookups)
	lookups := rpcbind.Programs(s.ports.lookups())
	if err := s.lookups.Handle(lookups...); err != nil {
		return err
	}
	if err := s.rpc.Handle(slices.Concat(nfs.Programs(), lookups, cfg.confPrograms(log))...); err != nil {
		return err
	}
	if cfg.rpcbind {
		if s.rpcbind, err = register(ctx, cfg.registering, s.ports, log); err != nil {
			return err
		}
	}
	s.debug.serve(debugHandler(func() map[string]any {
		return map[string]any{
			"nfs": nfs.Stats(), "rpc": s.rpc.Stats(), "rdma": s.watched.RDMA().Totals(),
			"iwarp": s.watched.IWARP().Stats(), "tcp": s.watched.TCP().Stats(),
			"excluded": s.ports.excluded.Load(),
		}
	}))
	s.watched.serve(&s.ports.excluded, nfs.Check)
	if err := s.greet(out); err != nil {
		s.rpcbind.unregister(context.WithoutCancel(ctx), log)
		return err
	}
	if cfg.exportsFile != "" {
		hangups, taken := takeHangups()
		defer taken()
		watching, stop := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { s.exports.watch(watching, hangups) })
		defer func() {
			stop()
			watch.Wait()
		}()
	}
	return s.run(ctx)
}

// run answers calls until ctx ends or something fails.
func (s *server) run(ctx context.Context) error {
	// What is under way when ctx ends is for Shutdown to end.
	background := context.WithoutCancel(ctx)
	ends := make(chan error, len(s.ports.rdma)+len(s.ports.rpcbind)+1)
	running := 0
	for _, l := range s.ports.rdma {
		running++
		go func() {
			ends <- rpcrdma.Serve(background, l, s.rpc, rpcrdma.Config{
				Logger:     s.log,
				InlineSend: int(s.cfg.inline),
				InlineRecv: int(s.cfg.inline),
				Credits:    s.cfg.credits,
				Dialect:    s.cfg.dialect.value,
				Align:      int(s.cfg.align),
				Counters:   s.watched.RDMA(),
			})
		}()
	}
	for _, l := range s.ports.rpcbind {
		running++
		go func() { ends <- s.serveLookups(background, l) }()
	}
	if s.ports.tcp != nil {
		running++
		go func() {
			ends <- recordmark.Serve(background, s.ports.tcp, s.rpc, recordmark.Config{
				Logger: s.log, TLS: s.tls, Counters: s.watched.TCP(),
			})
		}()
	}
	var err error
	select {
	case <-ctx.Done():
		s.log.Info("draining", "limit", s.cfg.drainTime)
	case err = <-ends:
		running--
	}
	s.watched.draining.Store(true)
	s.rpcbind.unregister(background, s.log) // first, so that no client comes for nothing
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

// drain lets calls under way be answered.
func (s *server) drain(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.cfg.drainTime)
	defer cancel()
	if err := errors.Join(s.rpc.Shutdown(limited), s.lookups.Shutdown(limited)); err != nil {
		return fmt.Errorf("calls were still under way after %v, and are lost: %w", s.cfg.drainTime, err)
	}
	return nil
}
