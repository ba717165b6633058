package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// ports is what a server listens on.
type ports struct {
	rdma *iwarp.Listener // nil: none
	tcp  net.Listener    // nil: none
}

// listen opens the ports.
func listen(ctx context.Context, cfg *serveConfig, log *slog.Logger) (*ports, error) {
	markers := mpa.MarkersAuto
	if cfg.markers {
		markers = mpa.MarkersOn
	}
	rdma, err := iwarp.Listen(ctx, cfg.listen, iwarp.Config{
		CRC:       cfg.crc.value,
		Markers:   markers,
		RecvDepth: max(iwarp.DefaultDepth, 2*cfg.credits), // rpcrdma grants half of it
		Logger:    log,
	})
	if err != nil {
		return nil, listenError("--listen", cfg.listen, err)
	}
	if cfg.mount == "" {
		return &ports{rdma: rdma}, nil
	}
	var lc net.ListenConfig
	tcp, err := lc.Listen(ctx, "tcp", cfg.mount)
	if err != nil {
		rdma.Close()
		return nil, listenError("--mount", cfg.mount, err)
	}
	return &ports{rdma, tcp}, nil
}

// close closes what nobody serves any more.
func (p *ports) close() {
	if p.rdma != nil {
		p.rdma.Close()
	}
	if p.tcp != nil {
		p.tcp.Close()
	}
}

// listenError says what is in the way of listening on an address, and what to do about it.
func listenError(flag, addr string, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s %s: %w", flag, addr, err)
	}
	var advice string
	switch {
	case errors.Is(errno, syscall.EADDRINUSE):
		advice = "; another server? choose a port with " + flag
	case errors.Is(errno, syscall.EACCES):
		advice = "; ports below 1024 take privileges: choose another with " + flag
	case errors.Is(errno, syscall.EADDRNOTAVAIL):
		advice = "; choose an address of this host with " + flag + ", or :PORT for all"
	}
	return fmt.Errorf("%s %s: %w%s", flag, addr, errno, advice)
}
