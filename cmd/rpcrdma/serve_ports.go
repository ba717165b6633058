package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// ports is what a server listens on.
type ports struct {
	rdma    *iwarp.Listener // nil: none
	sctp    *iwarp.Listener // nil: none
	rpcbind *iwarp.Listener // for look-ups alone; nil: none
	tcp     net.Listener    // nil: none

	excluded atomic.Uint64 // connections of clients that --allow does not name
}

// listen opens the ports.
func listen(ctx context.Context, cfg *serveConfig, m *metrics.Metrics, log *slog.Logger) (
	*ports, error) {
	markers := mpa.MarkersAuto
	if cfg.markers {
		markers = mpa.MarkersOn
	}
	low := iwarp.Config{
		CRC:       cfg.crc.value,
		Markers:   markers,
		RecvDepth: recvDepth(cfg.dialect.value, cfg.credits),
		Counters:  m.IWARP(),
		Logger:    log,
	}
	p := new(ports)
	rdma := func(addr string) (*iwarp.Listener, error) {
		l, err := listenAllowed(ctx, addr, cfg.allow, &p.excluded, log)
		if err != nil {
			return nil, err
		}
		r, err := iwarp.NewListener(l, low)
		if err != nil {
			l.Close()
		}
		return r, err
	}
	var err error
	if p.rdma, err = rdma(cfg.listen); err != nil {
		return nil, listenError("--listen", cfg.listen, err)
	}
	if cfg.provider == iwarpAndSCTP {
		if p.sctp, err = listenSCTP(ctx, cfg, p, low, m); err != nil {
			p.close()
			return nil, listenError("--sctp-udp", strconv.Itoa(cfg.sctpUDP), err)
		}
	}
	if cfg.rdmaRPCBind != "" {
		low.RecvDepth = iwarp.DefaultDepth
		if p.rpcbind, err = rdma(cfg.rdmaRPCBind); err != nil {
			p.close()
			return nil, listenError("--rdma-rpcbind", cfg.rdmaRPCBind, err)
		}
	}
	if cfg.mount != "" {
		if p.tcp, err = listenAllowed(ctx, cfg.mount, cfg.allow, &p.excluded, log); err != nil {
			p.close()
			return nil, listenError("--mount", cfg.mount, err)
		}
	}
	return p, nil
}

// close closes what nobody serves any more.
func (p *ports) close() {
	if p.rdma != nil {
		p.rdma.Close()
	}
	if p.sctp != nil {
		p.sctp.Close()
	}
	if p.rpcbind != nil {
		p.rpcbind.Close()
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
	case errors.Is(errno, syscall.EADDRINUSE) && flag == "--rdma-rpcbind" && atRPCBind(addr):
		advice = "; rpcbind has it, most likely: leave out --rdma-rpcbind; --rpcbind registers with it"
	case errors.Is(errno, syscall.EADDRINUSE):
		advice = "; another server? choose a port with " + flag
	case errors.Is(errno, syscall.EACCES):
		advice = "; ports below 1024 take privileges: choose another with " + flag
	case errors.Is(errno, syscall.EADDRNOTAVAIL) && flag == "--debug":
		advice = "; choose an address of this host"
	case errors.Is(errno, syscall.EADDRNOTAVAIL):
		advice = "; choose an address of this host with " + flag + ", or :PORT for all"
	}
	return fmt.Errorf("%s %s: %w%s", flag, addr, errno, advice)
}
