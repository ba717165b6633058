package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// ports is what a server listens on.
type ports struct {
	rdma    []rdmaPort   // by provider
	rpcbind []rdmaPort   // for look-ups alone, likewise
	tcp     net.Listener // nil: none

	excluded atomic.Uint64 // connections of clients that --allow does not name
}

// rdmaPort is where a server is reached over RDMA.
type rdmaPort struct {
	provider string
	transport.Listener
}

// at is its address, and the port of the service: iWARP's of TCP, or the other providers' own.
func (p rdmaPort) at() netip.AddrPort { return addrPort(p.Addr()) }

// addrPort takes the address of a listener apart.
func addrPort(a net.Addr) netip.AddrPort {
	at := a.(interface{ AddrPort() netip.AddrPort }).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// over returns the port of a provider, if there is one.
func (p *ports) over(provider string) (rdmaPort, bool) {
	i := slices.IndexFunc(p.rdma, func(l rdmaPort) bool { return l.provider == provider })
	if i < 0 {
		return rdmaPort{}, false
	}
	return p.rdma[i], true
}

// listen opens the ports.
func listen(ctx context.Context, cfg *serveConfig, m *metrics.Metrics, log *slog.Logger) (
	_ *ports, err error) {
	p := new(ports)
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	rdma := opener{cfg, m, log, recvDepth(cfg.dialect.value, cfg.credits), &p.excluded}
	at := cfg.listen
	for _, provider := range cfg.providers {
		flag, value := "--listen", cfg.listen
		if provider == "sctp" {
			flag, value = "--sctp-udp", strconv.Itoa(cfg.sctpUDP)
		}
		l, err := rdma.open(ctx, provider, at)
		if err != nil {
			return nil, listenError(flag, value, err)
		}
		p.rdma = append(p.rdma, rdmaPort{provider, l})
		at = p.rdma[0].at().String() // with the port that the first one has got
	}
	for _, provider := range cfg.lookupProviders() {
		rdma.recvDepth = 0
		l, err := rdma.open(ctx, provider, cfg.rdmaRPCBind)
		if err != nil {
			return nil, listenError("--rdma-rpcbind", cfg.rdmaRPCBind, err)
		}
		p.rpcbind = append(p.rpcbind, rdmaPort{provider, l})
	}
	if cfg.mount != "" {
		if p.tcp, err = listenAllowed(ctx, cfg.mount, cfg.allow, &p.excluded, log); err != nil {
			return nil, listenError("--mount", cfg.mount, err)
		}
	}
	return p, nil
}

// opener opens ports over RDMA.
type opener struct {
	cfg       *serveConfig
	metrics   *metrics.Metrics
	log       *slog.Logger
	recvDepth int // 0: the default
	excluded  *atomic.Uint64
}

func (o *opener) open(ctx context.Context, provider, addr string) (transport.Listener, error) {
	var below net.Listener
	var err error
	switch provider {
	case "roce":
		return o.openRoCE(ctx, addr)
	case "sctp":
		below, err = sctp.Listen(ctx, addr, sctp.Config{
			UDPPort: cmp.Or(o.cfg.sctpUDP, -1), Admit: o.admit, Logger: o.log, Counters: o.metrics.SCTP(),
			Trace: datagrams(traceOf(ctx)),
		})
	default:
		below, err = listenAllowed(ctx, addr, o.cfg.allow, o.excluded, o.log)
	}
	if err != nil {
		return nil, err
	}
	cfg := iwarp.Config{
		CRC: o.cfg.crc.value, RecvDepth: o.recvDepth, Counters: o.metrics.IWARP(), Logger: o.log,
	}
	if o.cfg.markers {
		cfg.Markers = mpa.MarkersOn
	}
	l, err := iwarp.NewListener(below, cfg)
	if err != nil {
		below.Close()
		return nil, err
	}
	return l, nil
}

func (o *opener) openRoCE(ctx context.Context, addr string) (transport.Listener, error) {
	l, err := roce.Listen(ctx, addr, roce.Config{
		RecvDepth: o.recvDepth, Admit: o.admit, Logger: o.log, Counters: o.metrics.ROCE(),
		Trace: datagrams(traceOf(ctx)),
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// admit reports whether --allow names a host, and counts it if not.
func (o *opener) admit(ip netip.Addr) bool {
	allow := o.cfg.allow
	if len(allow) == 0 || peerhost.Of(net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))).In(allow) {
		return true
	}
	o.excluded.Add(1)
	return false
}

// close closes what nobody serves any more.
func (p *ports) close() {
	for _, l := range slices.Concat(p.rdma, p.rpcbind) {
		l.Close()
	}
	if p.tcp != nil {
		p.tcp.Close()
	}
}

// listenError says what is in the way of listening on an address, and what to do about it.
func listenError(flag, addr string, err error) error {
	if errors.Is(err, roce.ErrPortTaken) {
		return fmt.Errorf("%s %s: %w; %s. Or choose an address whose port is free with %[1]s, or leave roce "+
			"out of --provider", flag, addr, roce.ErrPortTaken, portTaken)
	}
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
